"""Success and accuracy, each defined here and nowhere else. Pure.

Success is about runs: not failed. Accuracy is about answers: the mean of their labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from calibration.intervals import Interval, wilson

# A run that was aborted, or that somebody cancelled, was decided against: it neither succeeded nor failed.
SUCCEEDED = ("completed", "stopped", "escalated")
FAILED = ("failed",)


@dataclass(frozen=True)
class Share:
    """``value`` in [0, 1] over ``n`` things, with its 95 % interval; both None where there are none, which is not 0."""

    n: int
    value: float | None
    interval: Interval | None


def share(total: float, n: int) -> Share:
    """``total`` of ``n``."""
    if n == 0:
        return Share(0, None, None)
    # Labels of a third, summed, may pass their number by a hair.
    value = min(total / n, 1.0)
    return Share(n, value, wilson(value, n))


def success(counts: Mapping[str, int]) -> Share:
    """The share of runs (or steps) that succeeded among those that succeeded or failed, from the number per status."""
    good = sum(counts.get(status, 0) for status in SUCCEEDED)
    return share(good, good + sum(counts.get(status, 0) for status in FAILED))


def accuracy(label_sum: float, n: int) -> Share:
    """The mean label of ``n`` labelled answers, a partly right one counting as half."""
    return share(label_sum, n)


@dataclass
class Outcomes:
    """How some runs or steps went: how many have each status, and the labels of their answers."""

    statuses: dict[str, int] = field(default_factory=dict)
    label_sum: float = 0.0
    labelled: int = 0

    @property
    def count(self) -> int:
        return sum(self.statuses.values())

    @property
    def success(self) -> Share:
        return success(self.statuses)

    @property
    def accuracy(self) -> Share:
        return accuracy(self.label_sum, self.labelled)
