"""What the trust vector is computed from. Whatever breaks the contract is refused here, by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calibration import drift
from calibration.binning import MILLION, to_ppm
from calibration.storable import storable_text
from calibration.unit import optional_unit, unit

STRATEGIES = ("minimum", "veto")
ON_ERROR = ("ignore", "escalate")
ON_UNCALIBRATED = ("proceed", "escalate")
ON_LOW_CONFIDENCE = ("escalate", "abort", "proceed")
MOST = 10**15  # any count above it is an error, and floating point would no longer hold it
STATES = ("done", "failed", "skipped")
MODES = ("critic", "independent", "")
OLD_MODES = {"reviewer": "critic", "challenger": "independent"}


@dataclass(frozen=True, kw_only=True)
class VerifierInput:
    """V and how the step combines it.

    ``state``: "done"; "failed" (wanted and missing, ``error`` says why); "skipped" (the trigger did
    not fire). Only a done verifier has a score. ``mode`` is "" where nobody knows it.
    """

    score: float | None
    combination_strategy: str = "minimum"
    veto_floor: float = 0.60
    mode: str = "critic"
    on_error: str = "ignore"
    state: str = "done"
    error: str = ""

    def __post_init__(self) -> None:
        _set(self, "score", optional_unit("verifier.score", self.score))
        _set(self, "veto_floor", unit("verifier.veto_floor", self.veto_floor))
        _set(self, "mode", OLD_MODES.get(self.mode, self.mode))
        _set(self, "error", _text("verifier.error", self.error))
        one_of("verifier.combination_strategy", self.combination_strategy, STRATEGIES)
        one_of("verifier.mode", self.mode, MODES)
        one_of("verifier.on_error", self.on_error, ON_ERROR)
        _check_state("verifier", self.state, self.score)


@dataclass(frozen=True, kw_only=True)
class CalibrationInput:
    """The measured record of this bucket at this confidence.

    ``n`` labelled results in the bin [``lo``, ``hi``), ``accuracy`` their mean label (None without
    any). ``reset`` is the sentence that explains why a record was lost, or None.
    """

    enforce: bool = False
    on_uncalibrated: str = "proceed"
    n: int
    n_min: int
    accuracy: float | None
    lo: float | None = None
    hi: float | None = None
    reset: str | None = None

    def __post_init__(self) -> None:
        _boolean("calibration.enforce", self.enforce)
        one_of("calibration.on_uncalibrated", self.on_uncalibrated, ON_UNCALIBRATED)
        _count("calibration.n", self.n, least=0)
        _count("calibration.n_min", self.n_min, least=1)
        for name in ("accuracy", "lo", "hi"):
            _set(self, name, optional_unit(f"calibration.{name}", getattr(self, name)))
        if self.reset is not None:
            _set(self, "reset", _text("calibration.reset", self.reset))
        if self.validated and self.accuracy is None:
            raise ValueError("calibration.accuracy: expected a number from 0 to 1, since n reaches n_min")

    @property
    def validated(self) -> bool:
        return self.n >= self.n_min


@dataclass(frozen=True, kw_only=True)
class GroundingInput:
    """G and whether it may lower the number. ``supported`` of ``total`` claims, where the judge listed any.

    A done judge without a score found no claims; one is skipped where the executor cannot report
    tools; ``error`` says so. A failed one was wanted and is missing.
    """

    enforce: bool = False
    score: float | None
    on_error: str = "ignore"
    supported: int | None = None
    total: int | None = None
    state: str = "done"
    error: str = ""

    def __post_init__(self) -> None:
        _boolean("grounding.enforce", self.enforce)
        _set(self, "score", optional_unit("grounding.score", self.score))
        _set(self, "error", _text("grounding.error", self.error))
        one_of("grounding.on_error", self.on_error, ON_ERROR)
        _check_state("grounding", self.state, self.score)
        for name in ("supported", "total"):
            if (count := getattr(self, name)) is not None:
                _count(f"grounding.{name}", count, least=0)
        if (self.supported is None) != (self.total is None) or (self.supported or 0) > (self.total or 0):
            raise ValueError("grounding.supported: expected at most grounding.total, both or neither given")


@dataclass(frozen=True, kw_only=True)
class CheckInput:
    """One deterministic check. It passed or it did not: a check that could not run did not pass."""

    name: str
    passed: bool
    detail: str = ""

    def __post_init__(self) -> None:
        _set(self, "name", _text("checks.name", self.name))
        _boolean("checks.passed", self.passed)
        _set(self, "detail", _text("checks.detail", self.detail))


@dataclass(frozen=True, kw_only=True)
class BiasInput:
    """What people kept of this agent's last ``n`` judged answers, and how far that may move the threshold.

    ``claimed`` is the mean of what it said, ``kept`` how many of the ``n`` people kept; ``least`` of them are
    needed, and a drift within +/- ``band`` is noise. Not enforced, it is recorded and changes nothing.
    """

    enforce: bool = False
    n: int
    kept: int
    claimed: float | None
    least: int = 5
    band: float = 0.10
    allow_lower: bool = False

    def __post_init__(self) -> None:
        for name in ("enforce", "allow_lower"):
            _boolean(f"bias.{name}", getattr(self, name))
        _count("bias.n", self.n, least=0)
        _count("bias.kept", self.kept, least=0)
        _count("bias.least", self.least, least=1)
        _set(self, "claimed", optional_unit("bias.claimed", self.claimed))
        _set(self, "band", unit("bias.band", self.band))
        if self.kept > self.n:
            raise ValueError("bias.kept: expected at most bias.n")
        if (self.claimed is None) != (self.n == 0):
            raise ValueError("bias.claimed: expected a number just where bias.n is above 0")

    @property
    def record(self) -> drift.Record:
        claimed = None if self.claimed is None else to_ppm(self.claimed)
        return drift.Record(n=self.n, kept=self.kept, claimed_ppm=claimed)

    def moved(self, threshold: float) -> float:
        """Where the record would put ``threshold``, enforced or not."""
        return drift.biased(threshold, self.record, least=self.least, band=self.band, allow_lower=self.allow_lower)

    def told(self, threshold: float | None) -> dict[str, Any]:
        """The inputs, and what follows from them for ``threshold``, for the report."""
        observed = self.record.observed_ppm
        return {
            **vars(self),
            "observed": None if observed is None else observed / MILLION,
            "meaning": drift.meaning(self.record, least=self.least, band=self.band),
            "threshold": None if threshold is None else self.moved(threshold),
        }


def one_of(field: str, value: object, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        choices = ", ".join(word for word in allowed if word)
        raise ValueError(f"{field}: expected one of {choices}, not {str(value)[:40]!r}")
    return value


def _set(target: object, name: str, value: object) -> None:
    object.__setattr__(target, name, value)  # frozen for everyone but the constructor, which normalises


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{field}: expected text, not {type(value).__name__}")
    return storable_text(value)


def _boolean(field: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{field}: expected true or false, not {type(value).__name__}")


def _count(field: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
        raise ValueError(f"{field}: expected a whole number from {least} to {MOST}")


def _check_state(signal: str, state: str, score: float | None) -> None:
    one_of(f"{signal}.state", state, STATES)
    if state != "done" and score is not None:
        raise ValueError(f"{signal}.score: expected none, since its state is {state}")
