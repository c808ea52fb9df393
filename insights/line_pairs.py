"""Which removed line became which added one: lines that share enough words are one line, edited. Pure."""

from typing import NamedTuple

from insights.alignment import Budget
from insights.words import bag, likeness

ALIKE = 0.4
MOST_PAIRS = 2_500


class Pair(NamedTuple):
    """Lines of the left and lines of the right that stand side by side."""

    left: range
    right: range
    is_edit: bool = False  # one line each, and alike


def pair_lines(left: list[str], right: list[str], budget: Budget) -> list[Pair]:
    """All lines of both sides in order; where there are too many to compare, the n-th goes with the n-th."""
    if not left or not right:
        return [Pair(range(len(left)), range(len(right)))]
    few = len(left) * len(right) <= MOST_PAIRS
    if not (few or len(left) == len(right)) or not budget.spend(50 * (len(left) * len(right) if few else len(left))):
        return [Pair(range(len(left)), range(len(right)))]
    return _filled(_best(left, right) if few else _in_order(left, right), len(left), len(right))


def _in_order(left: list[str], right: list[str]) -> list[tuple[int, int]]:
    sides = enumerate(zip(left, right, strict=True))
    return [(n, n) for n, (mine, theirs) in sides if likeness(bag(mine), bag(theirs)) >= ALIKE]


def _best(left: list[str], right: list[str]) -> list[tuple[int, int]]:
    """The pairs, in order on both sides, that are most alike in all."""
    mine, theirs = [bag(line) for line in left], [bag(line) for line in right]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    alike = [[likeness(one, other) for other in theirs] for one in mine]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            paired = alike[i][j] + best[i + 1][j + 1] if alike[i][j] >= ALIKE else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], paired)
    return _chosen(best, alike)


def _chosen(best: list[list[float]], alike: list[list[float]]) -> list[tuple[int, int]]:
    chosen, i, j = [], 0, 0
    while i < len(alike) and j < len(alike[0]):
        if alike[i][j] >= ALIKE and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            chosen.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return chosen


def _filled(edits: list[tuple[int, int]], lefts: int, rights: int) -> list[Pair]:
    """The edits, and between them what was removed and added."""
    pairs, i, j = [], 0, 0
    for at, to in [*edits, (lefts, rights)]:
        if i < at or j < to:
            pairs.append(Pair(range(i, at), range(j, to)))
        if at < lefts:
            pairs.append(Pair(range(at, at + 1), range(to, to + 1), is_edit=True))
        i, j = at + 1, to + 1
    return pairs
