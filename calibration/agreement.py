"""Do two markers say the same of the same thing, more than chance would have them? Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import permutations, product
from typing import Literal

Level = Literal["nominal", "ordinal"]


def cohen_kappa(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Cohen's kappa of two markers' values on the same things: 1 full agreement, 0 what chance gives.

    None where it says nothing: without a pair, or when both only ever gave one and the same value.
    """
    given = list(pairs)
    if not given:
        return None
    n = len(given)
    observed = sum(one == other for one, other in given) / n
    first, second = Counter(one for one, _ in given), Counter(other for _, other in given)
    # In whole numbers, so that "always the same value" is exactly n * n.
    by_chance = sum(first[value] * second[value] for value in first)
    if by_chance == n * n:
        return None
    expected = by_chance / (n * n)
    return (observed - expected) / (1 - expected)


def krippendorff_alpha(units: Iterable[Sequence[float]], *, level: Level = "nominal") -> float | None:
    """Krippendorff's alpha over things marked by any number of people; each unit holds the values it was given.

    "ordinal" counts correct against incorrect as farther apart than correct against partial. Things
    with fewer than two values say nothing of agreement and are left out. None without two values to
    compare, or when every value is the same.
    """
    together: dict[tuple[float, float], float] = {}
    for unit in units:
        for pair in permutations(unit, 2):
            together[pair] = together.get(pair, 0.0) + 1 / (len(unit) - 1)
    totals: dict[float, float] = {}
    for (value, _), weight in together.items():
        totals[value] = totals.get(value, 0.0) + weight
    if len(totals) < 2:
        return None
    distances = _distances(totals, level)
    n = sum(totals.values())
    observed = sum(weight * distances[pair] for pair, weight in together.items())
    expected = sum(totals[one] * totals[other] * distances[one, other] for one, other in product(totals, repeat=2))
    return 1 - (n - 1) * observed / expected


def _distances(totals: dict[float, float], level: Level) -> dict[tuple[float, float], float]:
    """How far apart two values are: 0 or 1, or (ordinal) the square of how many values lie from one to the other."""
    if level == "nominal":
        return {(one, other): float(one != other) for one, other in product(totals, repeat=2)}
    found = {}
    for one, other in product(totals, repeat=2):
        low, high = min(one, other), max(one, other)
        between = sum(count for value, count in totals.items() if low <= value <= high)
        found[one, other] = (between - (totals[low] + totals[high]) / 2) ** 2
    return found
