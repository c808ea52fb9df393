"""Two texts side by side: which lines changed, and within a line which words. Pure.

However large or hostile the texts, the work and the result are bounded; what is left out is counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from insights.alignment import Budget, matches
from insights.line_pairs import pair_lines
from insights.words import Piece, mark_words, plain

CONTEXT = 3  # unchanged lines shown around a change
SHOWN_LINES = 600
SHOWN_CHARS = 150_000
STEPS = 1_500_000

Kind = Literal["same", "changed", "replaced", "gap"]
CHANGES = {"changed", "replaced"}


@dataclass(frozen=True)
class Line:
    """A line as it is shown; ``number`` counts from 1."""

    number: int
    pieces: list[Piece]


@dataclass(frozen=True)
class Block:
    """Lines that stand side by side.

    ``same``: as many on both sides, equal. ``changed``: one on each, with the words marked that differ.
    ``replaced``: lines of the left that are gone, lines of the right that are new; either may be none.
    ``gap``: ``hidden`` equal lines that are not shown.
    """

    kind: Kind
    left: list[Line]
    right: list[Line]
    hidden: int = 0


@dataclass(frozen=True)
class Diff:
    """``removed`` and ``added`` count lines of the whole texts; ``left_out`` those of them that no block shows."""

    blocks: list[Block]
    removed: int
    added: int
    left_out: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.removed or self.added)


def compare(before: str, after: str) -> Diff:
    """What turned ``before`` into ``after``. Line ends (LF or CRLF) and a last newline do not count."""
    return _Comparison(_lines(before), _lines(after)).diff()


def _lines(text: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


class _Region(NamedTuple):
    """Lines of both sides, from 0, that are equal or not."""

    same: bool
    left: range
    right: range


class _Comparison:
    """One comparison under way: what is shown so far, and the room and the work that are left."""

    def __init__(self, left: list[str], right: list[str]) -> None:
        self.left = left
        self.right = right
        self.budget = Budget(STEPS)
        self.blocks: list[Block] = []
        self.lines = SHOWN_LINES
        self.chars = SHOWN_CHARS

    @property
    def is_full(self) -> bool:
        return self.lines <= 0 or self.chars <= 0

    def diff(self) -> Diff:
        removed = added = 0
        regions = list(self._regions())
        for region in regions:
            if not region.same:
                removed, added = removed + len(region.left), added + len(region.right)
                self._changed(region)
            elif not self.is_full and len(regions) > 1:
                self._unchanged(region, is_first=region is regions[0], is_last=region is regions[-1])
        shown = sum(len(block.left) + len(block.right) for block in self.blocks if block.kind in CHANGES)
        return Diff(self.blocks, removed, added, removed + added - shown)

    def _regions(self) -> Iterator[_Region]:
        i = j = 0
        for match in matches(self.left, self.right, self.budget):
            if i < match.left or j < match.right:
                yield _Region(False, range(i, match.left), range(j, match.right))
            i, j = match.left + match.length, match.right + match.length
            yield _Region(True, range(match.left, i), range(match.right, j))
        if i < len(self.left) or j < len(self.right):
            yield _Region(False, range(i, len(self.left)), range(j, len(self.right)))

    def _unchanged(self, region: _Region, *, is_first: bool, is_last: bool) -> None:
        """The lines next to a change, and how many there are in between."""
        _, left, right = region
        head, tail = 0 if is_first else CONTEXT, len(left) - (0 if is_last else CONTEXT)
        if tail - head <= 1:
            self._same(left, right)
            return
        self._same(left[:head], right[:head])
        self.blocks.append(Block("gap", [], [], hidden=tail - head))
        self._same(left[tail:], right[tail:])

    def _same(self, left: range, right: range) -> None:
        if left:
            shown = [self._plain(self.left, number) for number in left]
            twins = [Line(number + 1, line.pieces) for number, line in zip(right, shown, strict=True)]
            self.blocks.append(Block("same", shown, twins))

    def _changed(self, region: _Region) -> None:
        if self.is_full:
            return
        _, left, right = region
        for pair in pair_lines([self.left[i] for i in left], [self.right[j] for j in right], self.budget):
            if self.is_full:
                return
            gone, new = left[pair.left.start : pair.left.stop], right[pair.right.start : pair.right.stop]
            self.blocks.append(self._edited(gone[0], new[0]) if pair.is_edit else self._replaced(gone, new))

    def _edited(self, left: int, right: int) -> Block:
        before, after = mark_words(self.left[left], self.right[right], self.budget)
        return Block("changed", [self._line(left, before)], [self._line(right, after)])

    def _replaced(self, left: range, right: range) -> Block:
        """Neither side takes the room of the other: of a text written anew, both beginnings are shown."""
        gone = self._fitting(self.left, left, 0.5 if right else 1)
        return Block("replaced", gone, self._fitting(self.right, right, 1))

    def _fitting(self, lines: list[str], chosen: range, share: float) -> list[Line]:
        """Those that fit into this share of the room that is left."""
        least_lines, least_chars = self.lines * (1 - share), self.chars * (1 - share)
        shown = []
        for number in chosen:
            if self.lines <= least_lines or self.chars <= least_chars:
                break
            shown.append(self._plain(lines, number))
        return shown

    def _plain(self, lines: list[str], number: int) -> Line:
        return self._line(number, plain(lines[number]))

    def _line(self, number: int, pieces: list[Piece]) -> Line:
        self.lines -= 1
        self.chars -= sum(len(piece.text) for piece in pieces)
        return Line(number + 1, pieces)
