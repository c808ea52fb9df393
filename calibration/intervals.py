"""How sure a measured share is. Pure."""

import math
from typing import NamedTuple

from calibration.unit import unit

Z95 = 1.959963984540054  # the 97.5 % point of the normal distribution


class Interval(NamedTuple):
    lo: float
    hi: float


def wilson(share: float, n: int, *, z: float = Z95) -> Interval | None:
    """The Wilson score interval (95 % by default) of a mean label ``share`` over ``n`` labels.

    None without any label: nothing is known, which is not [0, 1]. For labels of 0.5 it is on the
    wide side, since they vary less than the right-or-wrong it assumes.
    """
    unit("share", share)
    if n < 0:
        raise ValueError(f"n: expected a whole number of at least 0, not {n}")
    if n == 0:
        return None
    z2 = z * z
    centre = share + z2 / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    scale = 1 + z2 / n
    # At a share of 0 or 1 the bound is exact; floating point would leave it a hair off.
    lo = 0.0 if share == 0 else max(0.0, (centre - spread) / scale)
    hi = 1.0 if share == 1 else min(1.0, (centre + spread) / scale)
    return Interval(lo, hi)
