"""What an agent claimed against what people kept of it, for its page and the API."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from calibration import drift, turns
from calibration.models import KEPT, Turn
from calibration.plurals import plural
from runs.models import Step
from runs.pipelines.schema import ThresholdBias

USUAL = ThresholdBias()


@dataclass(frozen=True)
class Judged:
    """One turn, and the step it is, None where that was removed."""

    turn: Turn
    run_id: UUID | None
    step: str

    @property
    def is_kept(self) -> bool:
        return self.turn.outcome in KEPT

    @property
    def claimed(self) -> float:
        return self.turn.claimed_ppm / 1_000_000


@dataclass(frozen=True)
class Drift:
    """The last turns with an outcome, newest first, and what they add up to with the usual window, min and band."""

    record: drift.Record
    judged: Sequence[Judged]

    @property
    def least(self) -> int:
        return USUAL.min

    @property
    def meaning(self) -> drift.Meaning:
        return drift.meaning(self.record, least=USUAL.min, band=USUAL.band)

    @property
    def claimed(self) -> float | None:
        return None if self.record.claimed_ppm is None else self.record.claimed_ppm / 1_000_000

    @property
    def observed(self) -> float | None:
        return None if self.record.observed_ppm is None else self.record.observed_ppm / 1_000_000

    @property
    def value(self) -> float | None:
        """Drift in [-1, 1], below 0 where it claims too much; None while too few answers were judged."""
        if self.meaning == "too_few" or self.record.drift_ppm is None:
            return None
        return self.record.drift_ppm / 1_000_000

    @property
    def sentence(self) -> str:
        n, off = self.record.n, self.value
        if off is None:
            return (
                f"Not enough data: people have judged {plural(n, 'answer')} of this agent, and it takes {self.least}."
            )
        points = f"{abs(off) * 100:.1f}".removesuffix(".0")
        if self.meaning == "noise":
            return "It claims what people keep: the difference is noise."
        if self.meaning == "underconfident":
            return f"It claims {points} points less than people keep. By itself that lowers no threshold."
        return (
            f"It claims {points} points more than people keep: a threshold of 75% would become "
            f"{_whole(drift.biased(0.75, self.record, least=USUAL.min, band=USUAL.band, allow_lower=False))}% "
            "in steps that enforce threshold_bias."
        )


def drift_of(agent: str) -> Drift:
    """Two queries."""
    latest = turns.latest(agent, USUAL.window)
    steps = Step.objects.only("run_id", "name").in_bulk([turn.id for turn in latest])
    return Drift(turns.record_of(latest), [_judged(turn, steps.get(turn.id)) for turn in latest])


def _judged(turn: Turn, step: Step | None) -> Judged:
    return Judged(turn, step.run_id if step else None, step.name if step else "")


def _whole(share: float) -> str:
    return f"{share * 100:.1f}".removesuffix(".0")
