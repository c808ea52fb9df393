"""Which items of two sequences stay the same, in an amount of work that is bounded whatever they hold. Pure.

Items that occur once on both sides tie the two together first: people read a diff by its landmarks.
Only between the landmarks is the shortest edit looked for, and only while the budget lasts; what is
not looked at counts as changed, which is never wrong, only less fine.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

SHORTEST_EDIT = 300  # edits; a stretch that needs more is replaced as a whole


class Match(NamedTuple):
    """``length`` items from ``left`` on are the same as those from ``right`` on."""

    left: int
    right: int
    length: int


class Budget:
    """How many items may still be looked at: about ten million a second."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def spend(self, steps: int) -> bool:
        """Whether there was enough; what is not enough is not taken."""
        if steps > self.steps:
            return False
        self.steps -= steps
        return True


class _Stretch(NamedTuple):
    left: int
    left_end: int
    right: int
    right_end: int

    @property
    def size(self) -> int:
        return self.left_end - self.left + self.right_end - self.right


def matches(left: Sequence[Hashable], right: Sequence[Hashable], budget: Budget) -> list[Match]:
    """The stretches that both sequences share, in order, as long as they can be and never touching."""
    numbers: dict[Hashable, int] = {}
    a = [numbers.setdefault(item, len(numbers)) for item in left]
    b = [numbers.setdefault(item, len(numbers)) for item in right]
    found: list[Match] = []
    stretches = [_Stretch(0, len(a), 0, len(b))]
    while stretches:
        inner = _trim(a, b, stretches.pop(), found)
        if inner.left == inner.left_end or inner.right == inner.right_end or not budget.spend(inner.size):
            continue
        landmarks = _landmarks(a, b, inner)
        if landmarks:
            found += (Match(i, j, 1) for i, j in landmarks)
            stretches += _between(landmarks, inner)
        else:
            found += _shortest_edit(a, b, inner, budget)
    return _joined(sorted(found))


def _trim(a: list[int], b: list[int], of: _Stretch, found: list[Match]) -> _Stretch:
    """What is left of a stretch between its equal beginning and its equal end, which are noted."""
    left, left_end, right, right_end = of
    start, end = left, left_end
    while left < left_end and right < right_end and a[left] == b[right]:
        left, right = left + 1, right + 1
    while left < left_end and right < right_end and a[left_end - 1] == b[right_end - 1]:
        left_end, right_end = left_end - 1, right_end - 1
    found += (
        match
        for match in (Match(start, of.right, left - start), Match(left_end, right_end, end - left_end))
        if match.length
    )
    return _Stretch(left, left_end, right, right_end)


def _landmarks(a: list[int], b: list[int], of: _Stretch) -> list[tuple[int, int]]:
    """The longest run of items, in order on both sides, that stand once on each."""
    mine, theirs = Counter(a[of.left : of.left_end]), Counter(b[of.right : of.right_end])
    there = {b[j]: j for j in range(of.right, of.right_end) if theirs[b[j]] == 1}
    return _rising([(i, there[a[i]]) for i in range(of.left, of.left_end) if mine[a[i]] == 1 and a[i] in there])


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of ``pairs`` (rising in the first) that rises in the second too."""
    ends: list[int] = []  # the lowest right side that ends a rising part of each length
    holders: list[int] = []
    before: list[int] = []
    for number, (_, right) in enumerate(pairs):
        length = bisect_left(ends, right)
        before.append(holders[length - 1] if length else -1)
        ends[length : length + 1] = [right]
        holders[length : length + 1] = [number]
    chosen, at = [], holders[-1] if holders else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]


def _between(landmarks: list[tuple[int, int]], of: _Stretch) -> Iterator[_Stretch]:
    left, right = of.left, of.right
    for i, j in landmarks:
        yield _Stretch(left, i, right, j)
        left, right = i + 1, j + 1
    yield _Stretch(left, of.left_end, right, of.right_end)


def _shortest_edit(a: list[int], b: list[int], of: _Stretch, budget: Budget) -> list[Match]:
    """The matches of the shortest edit by Myers' greedy search; none when it takes too many edits."""
    n, m = of.left_end - of.left, of.right_end - of.right
    reached = {1: 0}  # by diagonal (x - y): how far along the left side
    history: list[dict[int, int]] = []
    for edits in range(min(n + m, SHORTEST_EDIT) + 1):
        history.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            x = _step(reached, diagonal, edits)
            start = x
            while x < n and x - diagonal < m and a[of.left + x] == b[of.right + x - diagonal]:
                x += 1
            reached[diagonal] = x
            if not budget.spend(1 + x - start):
                return []
            if x >= n and x - diagonal >= m:
                return _walk_back(history, of, n, m)
    return []


def _step(reached: dict[int, int], diagonal: int, edits: int) -> int:
    """Where the next edit leads on this diagonal: down from the one above it, or right from the one below."""
    down = diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])
    return reached[diagonal + 1] if down else reached[diagonal - 1] + 1


def _walk_back(history: list[dict[int, int]], of: _Stretch, x: int, y: int) -> list[Match]:
    found = []
    for edits in range(len(history) - 1, -1, -1):
        reached, diagonal = history[edits], x - y
        start = _step(reached, diagonal, edits)
        if x > start:
            found.append(Match(of.left + start, of.right + start - diagonal, x - start))
        down = diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])
        came_from = diagonal + 1 if down else diagonal - 1
        x = reached[came_from]
        y = x - came_from
    return found


def _joined(found: list[Match]) -> list[Match]:
    """Matches that touch on both sides, as one."""
    joined: list[Match] = []
    for match in found:
        last = joined[-1] if joined else None
        if last and last.left + last.length == match.left and last.right + last.length == match.right:
            joined[-1] = Match(last.left, last.right, last.length + match.length)
        else:
            joined.append(match)
    return joined
