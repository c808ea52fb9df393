"""Bins of confidence by exact integer arithmetic. Pure.

Confidence is counted in whole parts per million (ppm) and a width as the number of bins it divides
[0, 1] into, so no bin's edge depends on floating point noise. A bin holds its lower edge and not its
upper one; the last bin holds 1.0 as well.
"""

from fractions import Fraction
from functools import cache

from calibration.unit import unit

MILLION = 1_000_000


def to_ppm(confidence: float) -> int:
    """``confidence`` in whole ppm, rounded down: 0.8999999 stays below 0.9.

    Noise past the ninth decimal is taken off first, so 1 - 0.9 (0.09999999999999998) is 100000.
    Raises ValueError for anything that is no number in [0, 1].
    """
    return round(unit("confidence", confidence) * 1_000_000_000) // 1000


def least_ppm(threshold: float) -> int:
    """The lowest whole ppm that is not below ``threshold``: what clears it has at least as many.

    Raises ValueError as ``to_ppm``.
    """
    return -(-round(unit("threshold", threshold) * 1_000_000_000) // 1000)


@cache
def bins_of(width: float | str) -> int:
    """How many bins of ``width`` make up [0, 1]. Raises ValueError unless the width divides 1 exactly."""
    try:
        count = 1 / Fraction(str(width))
    except (ValueError, ZeroDivisionError) as error:
        raise ValueError(f"bin_width must be a number that divides 1, not {width!r}") from error
    if count.denominator != 1 or not 1 <= count <= MILLION:
        raise ValueError(f"bin_width must divide 1 exactly (0.1, 0.05, 0.2, 0.25 ...), not {width!r}")
    return count.numerator


def bin_of(ppm: int, width: float | str) -> int:
    """The index, from 0, of the bin that ``ppm`` falls into."""
    count = bins_of(width)
    return min(ppm * count // MILLION, count - 1)


def edges(index: int, width: float | str) -> tuple[float, float]:
    """The bin's lower and upper edge, as the floats closest to the exact fractions."""
    count = bins_of(width)
    return index / count, (index + 1) / count


def ppm_range(index: int, width: float | str) -> tuple[int, int]:
    """The ppm values in the bin: at least the first, below the second."""
    count = bins_of(width)
    below = MILLION + 1 if index == count - 1 else -(-(index + 1) * MILLION // count)
    return -(-index * MILLION // count), below
