"""Did it help? The difference between two accuracies, how sure it is, and a sentence. Pure."""

import math
from dataclasses import dataclass
from typing import Literal

from calibration.intervals import Interval, wilson

ENOUGH = 20
TOO_FEW = "too few marks to say"


@dataclass(frozen=True)
class Record:
    """``n`` labels and their mean; None without any."""

    accuracy: float | None
    n: int


@dataclass(frozen=True)
class AccuracyDifference:
    """``value`` is after minus before, in [-1, 1], with its 95 % interval; both None when a side has no label.

    The verdict is "too few" below the number of labels asked for on either side, and "unclear" when
    the interval holds 0.
    """

    before: Record
    after: Record
    value: float | None
    interval: Interval | None
    verdict: Literal["helped", "hurt", "unclear", "too few"]
    sentence: str


def difference(before: Record, after: Record, *, enough: int = ENOUGH) -> AccuracyDifference:
    """Compare two independent sets of labels by Newcombe's interval, made of the two Wilson intervals."""
    value, interval = _newcombe(before, after)
    if value is None or interval is None or min(before.n, after.n) < enough:
        return AccuracyDifference(before, after, value, interval, "too few", _too_few(before, after, enough))
    sides = f"{_share(before)} before, {_share(after)} after"
    if interval.lo > 0:
        sentence = f"It helped: {sides}; {_span(interval.lo, interval.hi)} points more correct."
        return AccuracyDifference(before, after, value, interval, "helped", sentence)
    if interval.hi < 0:
        sentence = f"It hurt: {sides}; {_span(-interval.hi, -interval.lo)} points fewer correct."
        return AccuracyDifference(before, after, value, interval, "hurt", sentence)
    sentence = (
        f"No clear difference: {sides}; anything from {_signed(interval.lo)} to {_signed(interval.hi)} points fits."
    )
    return AccuracyDifference(before, after, value, interval, "unclear", sentence)


def _newcombe(before: Record, after: Record) -> tuple[float | None, Interval | None]:
    if before.accuracy is None or after.accuracy is None:
        return None, None
    old, new = wilson(before.accuracy, before.n), wilson(after.accuracy, after.n)
    if old is None or new is None:
        return None, None
    value = after.accuracy - before.accuracy
    down = math.hypot(after.accuracy - new.lo, old.hi - before.accuracy)
    up = math.hypot(new.hi - after.accuracy, before.accuracy - old.lo)
    return value, Interval(max(-1.0, value - down), min(1.0, value + up))


def _too_few(before: Record, after: Record, enough: int) -> str:
    return f"{TOO_FEW.capitalize()}: {before.n} before and {after.n} after, of the {enough} each side needs."


def _share(record: Record) -> str:
    return f"{record.accuracy:.0%} of {record.n}"


def _span(lo: float, hi: float) -> str:
    return f"{lo * 100:.0f} to {hi * 100:.0f}"


def _signed(value: float) -> str:
    points = round(value * 100)
    return f"{points:+}" if points else "0"
