"""A bucket's bins at a glance: one cell each, whose shape says what its colour says. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from calibration.bins import Bin
from calibration.flags import flag
from calibration.intervals import Interval
from calibration.plurals import plural

Kind = Literal["empty", "few", "agrees", "over", "under"]
WORDS: dict[Kind, str] = {
    "empty": "no labels yet",
    "few": "too few labels to say",
    "agrees": "as right as it says",
    "over": "less often right than it says",
    "under": "more often right than it says",
}
MEANING: dict[Kind, str] = {
    "empty": "no labels",
    "few": "too few to say, filled as far as it got",
    "agrees": "as right as it says",
    "over": "claims more than it holds",
    "under": "holds more than it claims",
}
CELL, GAP, TALL = 20, 3, 24


@dataclass(frozen=True)
class Cell:
    """One bin, drawn at ``x``. ``fill`` is how far it is from being validated, from 0 to 1.

    ``sure`` is whether its 95 % interval bears the verdict out; the shape is hollow where it does not.
    """

    kind: Kind
    bin: Bin
    x: int
    fill: float
    sure: bool

    @property
    def words(self) -> str:
        return WORDS[self.kind]


def cells(bins: Sequence[Bin], *, n_min: int) -> list[Cell]:
    """A cell for each bin, from 0 to 1."""
    return [_cell(one, index * (CELL + GAP), n_min) for index, one in enumerate(bins)]


def width(count: int) -> int:
    """How wide the strip of ``count`` cells is, in its own units."""
    return count * (CELL + GAP) - GAP


def told(bins: Sequence[Bin]) -> str:
    """The strip in words, for those who do not see it: only bins that say something are named."""
    parts = [_told(one) for one in bins if one.validated]
    few = sum(one.n for one in bins if not one.validated)
    if few:
        parts.append(
            f"{few} more in bins with too few to say" if parts else f"{plural(few, 'label')}, too few in any bin to say"
        )
    return "; ".join(parts) or "no labels yet"


def kind_of(one: Bin) -> Kind:
    """What a bin has to say: nothing, too little, or which way its record differs from its claim."""
    if one.n == 0:
        return "empty"
    if not one.validated:
        return "few"
    found = flag(one)
    return found.direction if found else "agrees"


def percent_range(lo: float, hi: float) -> str:
    """ "80 to 90%" """
    return f"{_points(lo)} to {_points(hi)}%"


def interval_range(interval: Interval | None) -> str:
    """ "44 to 77%", or "" where nothing is known."""
    return "" if interval is None else f"{interval.lo * 100:.0f} to {interval.hi * 100:.0f}%"


def _cell(one: Bin, x: int, n_min: int) -> Cell:
    found = flag(one)
    return Cell(kind_of(one), one, x, min(1.0, one.n / n_min), found is None or found.supported)


def _told(one: Bin) -> str:
    return f"says {one.mean_confidence:.0%}, is right {one.mean_label:.0%} of {one.n} ({WORDS[kind_of(one)]})"


def _points(edge: float) -> str:
    return f"{edge * 100:.4f}".rstrip("0").rstrip(".")
