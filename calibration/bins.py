"""From sums over labelled samples to the bins people read. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from calibration import binning
from calibration.binning import MILLION
from calibration.intervals import Interval, wilson

HALF = 0.5


class Sums(NamedTuple):
    """What a set of labelled samples adds up to, in whole numbers, so that no order of adding changes it.

    ``label_ppm`` and ``confidence_ppm`` are in parts per million, ``squares`` of (confidence - label)
    in ppm². The last three say how many labels came from where; they add up to ``n``.
    """

    n: int = 0
    label_ppm: int = 0
    confidence_ppm: int = 0
    squares: int = 0
    by_step_mark: int = 0
    by_failed_check: int = 0
    by_run_mark: int = 0


_NOTHING = Sums()


class Bin(NamedTuple):
    """The labelled samples with a confidence in [lo, hi), in the last bin 1.0 too.

    ``mean_label`` (the accuracy), ``mean_confidence`` and ``interval`` (Wilson, 95 %) are None in an
    empty bin: nothing is known there. ``validated`` is whether ``n`` reaches the n_min asked for.
    """

    lo: float
    hi: float
    n: int
    mean_label: float | None
    mean_confidence: float | None
    interval: Interval | None
    validated: bool


def label_ppm(label: float) -> int:
    """A label in whole ppm, a tie rounded up, as the SQL over samples does it."""
    return int(label * MILLION + HALF)


def sums_of(confidence_ppm: int, label: float, source: str) -> Sums:
    """What one labelled sample adds; ``source`` is step_mark, failed_check or run_mark."""
    worth = label_ppm(label)
    sources = (source == "step_mark", source == "failed_check", source == "run_mark")
    return Sums(1, worth, confidence_ppm, (confidence_ppm - worth) ** 2, *map(int, sources))


def total(parts: Iterable[Sums]) -> Sums:
    """All of ``parts`` together."""
    return Sums(*map(sum, zip(_NOTHING, *parts, strict=True)))


def make_bins(sums: Mapping[int, Sums], *, bin_width: float, n_min: int) -> list[Bin]:
    """Every bin of [0, 1], the empty ones too; ``sums`` by the bin's index. Raises ValueError for a bad width."""
    return [_bin(lo, hi, sums.get(index, _NOTHING), n_min) for index, (lo, hi) in enumerate(_edges(bin_width))]


def ece(bins: Sequence[Bin]) -> float | None:
    """The expected calibration error: the mean gap between accuracy and mean confidence, weighted by n.

    From 0 (every bin is as right as it says) to 1; None without any label.
    """
    n = sum(one.n for one in bins)
    if not n:
        return None
    return (
        sum(
            one.n * abs(one.mean_label - one.mean_confidence)
            for one in bins
            if one.mean_label is not None and one.mean_confidence is not None
        )
        / n
    )


def brier(sums: Sums) -> float | None:
    """The Brier score: the mean squared gap between confidence and label, 0 the best; None without any label."""
    return sums.squares / (sums.n * MILLION * MILLION) if sums.n else None


@lru_cache(maxsize=64)
def _edges(bin_width: float) -> list[tuple[float, float]]:
    return [binning.edges(index, bin_width) for index in range(binning.bins_of(bin_width))]


def _bin(lo: float, hi: float, sums: Sums, n_min: int) -> Bin:
    n = sums.n
    if not n:
        return Bin(lo, hi, 0, None, None, None, False)
    share = sums.label_ppm / (n * MILLION)
    return Bin(lo, hi, n, share, sums.confidence_ppm / (n * MILLION), wilson(share, n), n >= n_min)
