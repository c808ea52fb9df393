"""Where a measured accuracy is far from what was claimed, in words. Pure."""

from typing import Literal, NamedTuple

from calibration.bins import Bin
from calibration.plurals import plural

POINTS = 15
# Differences are compared in parts per billion: 0.95 - 0.80 is 0.1499999999999999 in floating point, and is 15 points.
_BILLION = 1_000_000_000
_FAR = POINTS * _BILLION // 100


class Flag(NamedTuple):
    """A validated bin whose accuracy is POINTS or more from its mean confidence.

    "over": the agent claims more than it holds; "under": less. ``supported`` is whether the 95 %
    interval of the accuracy leaves the mean confidence out, so that chance alone explains it badly.
    """

    direction: Literal["over", "under"]
    lo: float
    hi: float
    n: int
    mean_confidence: float
    accuracy: float
    supported: bool

    @property
    def sentence(self) -> str:
        """As people read it: "runs scoring ~90% here are only 75% correct"."""
        word = "only" if self.direction == "over" else "actually"
        return f"runs scoring ~{self.mean_confidence:.0%} here are {word} {self.accuracy:.0%} correct"

    @property
    def gap(self) -> float:
        """How far claim and record are apart, above 0."""
        return abs(self.mean_confidence - self.accuracy)

    @property
    def support(self) -> str:
        """What the interval says about it, for the line below the sentence."""
        marks = plural(self.n, "label")
        if self.supported:
            return f"{marks}: the 95% interval bears this out"
        return f"{marks}: the 95% interval still allows that nothing is wrong"


def is_far(gap: float) -> bool:
    """Whether claim and record are POINTS or more apart, either way."""
    return round(abs(gap) * _BILLION) >= _FAR


def flag(of: Bin) -> Flag | None:
    """What to say about the bin, or None: too few labels, or not far enough apart."""
    if not of.validated or of.mean_label is None or of.mean_confidence is None or of.interval is None:
        return None
    gap = of.mean_confidence - of.mean_label
    if not is_far(gap):
        return None
    supported = not of.interval.lo <= of.mean_confidence <= of.interval.hi
    direction: Literal["over", "under"] = "over" if gap > 0 else "under"
    return Flag(direction, of.lo, of.hi, of.n, of.mean_confidence, of.mean_label, supported)
