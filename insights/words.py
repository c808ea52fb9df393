"""Words within a line: what they are, and which of them differ between two lines. Pure."""

import re
from collections import Counter
from dataclasses import dataclass

from insights.alignment import Budget, matches

# Blanks; one letter of a script that is written without blanks; one sign; else a word.
_SIGN = r"!-/:-@\[-^`{-~"
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"\s+|[{_UNSPACED}]|[{_SIGN}]|[^\s{_SIGN}{_UNSPACED}]+")
# Marks of direction and width that no reader sees; where they are what changed, they are spelled out.
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]")
LONG_WORD = 40
COMPARED_WORDS = 200
EQUAL_HEAD, EQUAL_TAIL = 160, 120
WHOLE_HEAD, WHOLE_TAIL = 1_000, 200


@dataclass(frozen=True)
class Piece:
    """A part of a line; ``marked`` when it differs. With ``left_out``, so many characters stand here unshown."""

    text: str
    marked: bool = False
    left_out: int = 0


def split(line: str) -> list[str]:
    """The line's words, signs and blanks, in order and complete."""
    return _TOKEN.findall(line)


def likeness(left: "Counter[str]", right: "Counter[str]") -> float:
    """How much two lines share, from 0 to 1: twice the common words over all words."""
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 1.0


def bag(line: str) -> "Counter[str]":
    """The first words of a line, to compare by ``likeness``."""
    found: Counter[str] = Counter()
    for number, match in enumerate(_TOKEN.finditer(line)):
        if number == 2 * COMPARED_WORDS:
            break
        if not match[0].isspace():
            found[match[0]] += 1
    return found


def plain(line: str) -> list[Piece]:
    """A whole line, its middle left out when it is long."""
    return _cut(Piece(line), WHOLE_HEAD, WHOLE_TAIL)


def mark_words(before: str, after: str, budget: Budget) -> tuple[list[Piece], list[Piece]]:
    """Both lines, with the words marked that only one of them has."""
    left, right = split(before), split(after)
    old: list[Piece] = []
    new: list[Piece] = []
    for same, mine, theirs in _stretches(left, right, budget):
        if same:
            old += _cut(Piece(mine), EQUAL_HEAD, EQUAL_TAIL)
            new += _cut(Piece(theirs), EQUAL_HEAD, EQUAL_TAIL)
        else:
            for side, parts in zip((old, new), _letters(mine, theirs), strict=True):
                side += [piece for part in parts for piece in _shown(part)]
    return old, new


def _stretches(left: list[str], right: list[str], budget: Budget) -> list[tuple[bool, str, str]]:
    """(equal?, left text, right text): a blank between two changes belongs to them."""
    found: list[tuple[bool, str, str]] = []
    i = j = 0
    for match in matches(left, right, budget):
        _add(found, False, "".join(left[i : match.left]), "".join(right[j : match.right]))
        i, j = match.left + match.length, match.right + match.length
        _add(found, True, "".join(left[match.left : i]), "".join(right[match.right : j]))
    _add(found, False, "".join(left[i:]), "".join(right[j:]))
    return found


def _add(found: list[tuple[bool, str, str]], same: bool, left: str, right: str) -> None:
    if not (left or right):
        return
    if not same and len(found) > 1 and found[-1][0] and found[-1][1].isspace():
        _, blank, _ = found.pop()
        _, before, after = found.pop()
        left, right = before + blank + left, after + blank + right
    found.append((same, left, right))


def _letters(left: str, right: str) -> tuple[list[Piece], list[Piece]]:
    """Long words without a break (keys, addresses) differ by their letters in the middle, others as a whole."""
    if min(len(left), len(right)) <= LONG_WORD or any(map(str.isspace, left)) or any(map(str.isspace, right)):
        return [Piece(left, marked=True)], [Piece(right, marked=True)]
    shorter = min(len(left), len(right))
    head = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    room = shorter - head
    tail = next((at for at in range(room) if left[-1 - at] != right[-1 - at]), room)
    return _around(left, head, tail), _around(right, head, tail)


def _around(word: str, head: int, tail: int) -> list[Piece]:
    end = len(word) - tail
    return [Piece(word[:head]), Piece(word[head:end], marked=True), Piece(word[end:])]


def _shown(piece: Piece) -> list[Piece]:
    if not piece.text:
        return []
    if not piece.marked:
        return _cut(piece, EQUAL_HEAD, EQUAL_TAIL)
    return [
        Piece(_INVISIBLE.sub(lambda match: f"<U+{ord(match[0]):04X}>", part.text), True, part.left_out)
        for part in _cut(piece, WHOLE_HEAD, WHOLE_TAIL)
    ]


def _cut(piece: Piece, head: int, tail: int) -> list[Piece]:
    """A piece without its middle, when that makes it notably shorter."""
    text = piece.text
    if len(text) <= head + tail + 100:
        return [piece]
    hidden = Piece("", piece.marked, left_out=len(text) - head - tail)
    return [Piece(text[:head], piece.marked), hidden, Piece(text[-tail:], piece.marked)]
