"""What agents said (S) against what their evidence showed (G): would enforcing grounding have changed anything?

Reads the trust reports that the gate left, so a figure here is what the gate itself compared.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F

from insights.measures import Share, share
from runs.models import Step

WINDOW = 15  # answers in the running mean of the chart


@dataclass(frozen=True)
class Answer:
    """One answer that was judged. ``before`` is the trust just before grounding, which enforcing would cap with G.

    ``before`` and ``after`` are None when the report names no number there.
    """

    step_id: uuid.UUID
    run_id: uuid.UUID
    at: datetime
    said: float
    shown: float
    before: float | None
    enforced: bool
    wide: bool
    threshold: float | None
    check_failed: bool

    @property
    def would_be_capped(self) -> bool:
        """In shadow mode: grounding would have lowered the number, had it been enforced."""
        return not self.enforced and self.before is not None and self.shown < self.before

    @property
    def would_fall(self) -> bool:
        """It cleared the threshold and would not have, had grounding been enforced."""
        return (
            self.would_be_capped
            and not self.check_failed
            and self.threshold is not None
            and self.before is not None
            and self.before >= self.threshold > self.shown
        )


@dataclass(frozen=True)
class Comparison:
    """``answers`` oldest first. ``capped`` and ``fallen`` are shares of those in shadow mode, ``wide`` of all."""

    answers: Sequence[Answer]
    shadow_n: int
    mean_said: float
    mean_shown: float
    wide: Share
    capped: Share
    fallen: Share
    in_shadow_now: bool

    @property
    def wide_answers(self) -> list[Answer]:
        """Those with a wide gap, newest first."""
        return [one for one in reversed(self.answers) if one.wide]


def answers_of(step_ids: Sequence[uuid.UUID]) -> list[Answer]:
    """The judged ones among these steps, oldest first. One query; long texts stay in the database."""
    rows = (
        Step.objects.filter(pk__in=step_ids, grounding_score__isnull=False, primary_confidence__isnull=False)
        .annotate(
            before=F(f"trust_report__stages__{GROUNDING}__before"),
            enforced=F(f"trust_report__stages__{GROUNDING}__enforced"),
            wide=F("trust_report__wide_gap"),
        )
        .values(
            "id", "run_id", "created_at", "primary_confidence", "grounding_score", "before", "enforced", "wide",
            "confidence_threshold", "deterministic_passed",
        )
    )  # fmt: skip
    return sorted((_answer(row) for row in rows), key=lambda one: (one.at, one.step_id))


# Where grounding stands in a report's stages (runs.trust.vector); a test holds it to that.
GROUNDING = 3


def _answer(row: Mapping[str, Any]) -> Answer:
    return Answer(
        step_id=row["id"],
        run_id=row["run_id"],
        at=row["created_at"],
        said=row["primary_confidence"],
        shown=row["grounding_score"],
        before=row["before"],
        enforced=bool(row["enforced"]),
        wide=bool(row["wide"]),
        threshold=row["confidence_threshold"],
        check_failed=row["deterministic_passed"] is False,
    )


def compare(answers: Sequence[Answer]) -> Comparison | None:
    """None when no answer was judged."""
    if not answers:
        return None
    shadow = [one for one in answers if not one.enforced]
    n = len(answers)
    return Comparison(
        answers=answers,
        shadow_n=len(shadow),
        mean_said=sum(one.said for one in answers) / n,
        mean_shown=sum(one.shown for one in answers) / n,
        wide=share(sum(one.wide for one in answers), n),
        capped=share(sum(one.would_be_capped for one in shadow), len(shadow)),
        fallen=share(sum(one.would_fall for one in shadow), len(shadow)),
        in_shadow_now=not answers[-1].enforced,
    )


def running_means(values: Sequence[float], *, window: int = WINDOW) -> list[float]:
    """The mean of each value and up to ``window`` - 1 before it."""
    means = []
    for end in range(1, len(values) + 1):
        part = values[max(0, end - window) : end]
        means.append(sum(part) / len(part))
    return means
