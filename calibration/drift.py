"""The drift of an agent: how much less, or more, people kept than it claimed. Pure.

The calibration loop of KCC (Kernel, Capabilities, Cells): drift = mean(observed) - mean(claimed) over the
last turns with an outcome, where an outcome counts 1 when people kept the answer and 0 when they did not.
Counted in whole parts per million (ppm), so that 80 % against 95 % is 15 points and not nearly 15.
"""

from dataclasses import dataclass
from typing import Literal

from calibration.binning import MILLION, to_ppm

Meaning = Literal["too_few", "noise", "overconfident", "underconfident"]


@dataclass(frozen=True, kw_only=True)
class Record:
    """The last ``n`` turns with an outcome: ``kept`` of them, and the mean confidence they claimed.

    ``claimed_ppm`` is None without any turn.
    """

    n: int
    kept: int
    claimed_ppm: int | None

    @classmethod
    def of(cls, *, n: int, kept: int, claimed_ppm: int) -> "Record":
        """From sums: ``claimed_ppm`` is what all ``n`` claimed together; the mean is a whole ppm, a tie upwards."""
        return cls(n=n, kept=kept, claimed_ppm=(claimed_ppm * 2 + n) // (2 * n) if n else None)

    @property
    def observed_ppm(self) -> int | None:
        """The share that people kept, rounded to a whole ppm, a tie upwards."""
        return (self.kept * MILLION * 2 + self.n) // (2 * self.n) if self.n else None

    @property
    def drift_ppm(self) -> int | None:
        """Below 0: it claims more than people keep. None without any turn."""
        if self.observed_ppm is None or self.claimed_ppm is None:
            return None
        return self.observed_ppm - self.claimed_ppm


def meaning(record: Record, *, least: int, band: float) -> Meaning:
    """What the record says: too few turns, noise (drift within +/- ``band``), or which way it is off."""
    drift = record.drift_ppm
    if drift is None or record.n < least:
        return "too_few"
    if abs(drift) <= to_ppm(band):
        return "noise"
    return "overconfident" if drift < 0 else "underconfident"


def biased(threshold: float, record: Record, *, least: int, band: float, allow_lower: bool) -> float:
    """The threshold in force for an agent with this record, in [0, 1].

    Overconfidence raises it by the drift; the opposite lowers it only where ``allow_lower`` asks for it.
    Raises ValueError for a threshold or band that is no number in [0, 1].
    """
    off = meaning(record, least=least, band=band)
    drift = record.drift_ppm
    if drift is None or off in ("too_few", "noise") or (off == "underconfident" and not allow_lower):
        return threshold
    return min(max(to_ppm(threshold) - drift, 0), MILLION) / MILLION
