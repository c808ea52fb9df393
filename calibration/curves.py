"""Where should the threshold be? The risk-coverage curve of labelled history. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from calibration.intervals import Interval, wilson

# Below it a label says wrong rather than right; a partial answer is neither.
WRONG_BELOW = 0.5
PERCENTS = tuple(percent / 100 for percent in range(101))


@dataclass(frozen=True)
class Point:
    """What a gate at ``threshold`` would have done; it stops what is strictly below.

    ``passed_n`` and ``to_person_n`` add up to all labels. ``wrong_passed`` and ``wrong_caught`` add up
    to all labels below WRONG_BELOW. ``accuracy_of_passed`` is their mean label with its 95 % interval,
    both None when nothing passes. The last two are 95 % intervals of the share that goes to a person,
    and of the wrong ones that are caught (None without a wrong one).
    """

    threshold: float
    passed_n: int
    to_person_n: int
    wrong_passed: int
    wrong_caught: int
    accuracy_of_passed: float | None
    interval: Interval | None
    to_person_interval: Interval | None
    caught_interval: Interval | None


def risk_coverage(pairs: Iterable[tuple[float, float]], *, thresholds: Sequence[float] = PERCENTS) -> list[Point]:
    """One point per threshold, from (confidence, label) pairs; [] without any pair."""
    ordered = sorted(pairs)
    if not ordered:
        return []
    confidences = [confidence for confidence, _ in ordered]
    labels = [0.0, *accumulate(label for _, label in ordered)]
    wrongs = [0, *accumulate(int(label < WRONG_BELOW) for _, label in ordered)]
    return [_point(threshold, bisect_left(confidences, threshold), labels, wrongs) for threshold in thresholds]


def _point(threshold: float, stopped: int, labels: Sequence[float], wrongs: Sequence[int]) -> Point:
    """``labels`` and ``wrongs`` are running sums; the first ``stopped`` of them do not pass."""
    everything, wrong = len(labels) - 1, wrongs[-1]
    passed = everything - stopped
    # Floating point sums of labels such as 1/3 may end a hair outside [0, 1].
    accuracy = min(1.0, max(0.0, (labels[-1] - labels[stopped]) / passed)) if passed else None
    return Point(
        threshold=threshold,
        passed_n=passed,
        to_person_n=stopped,
        wrong_passed=wrong - wrongs[stopped],
        wrong_caught=wrongs[stopped],
        accuracy_of_passed=accuracy,
        interval=None if accuracy is None else wilson(accuracy, passed),
        to_person_interval=wilson(stopped / everything, everything),
        caught_interval=wilson(wrongs[stopped] / wrong, wrong) if wrong else None,
    )
