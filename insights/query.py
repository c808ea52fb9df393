"""The parameters that several pages of Insights take."""

from typing import TypedDict, cast

from django.conf import settings
from django.http import QueryDict
from django.utils.http import urlencode

from calibration.binning import bins_of
from calibration.summary import Stage
from calibration.unit import unit
from runs.models.run import STAGES
from runs.views.query import BadAddress, one_of

# A page draws each of them, for many records.
MOST_BINS = 25
_COARSE = 0.05


class Counting(TypedDict):
    """What the pages of Insights count: ``bin_width`` is the one they are drawn in."""

    stage: Stage
    bin_width: float
    n_min: int


def counting(stage: Stage = "all") -> Counting:
    return Counting(stage=stage, bin_width=drawn_width(), n_min=settings.SERVICE.calibration.n_min)


def drawn_width() -> float:
    """The service's own width of bins; a coarser one where that makes more than a page can draw."""
    width = settings.SERVICE.calibration.bin_width
    return width if bins_of(width) <= MOST_BINS else _COARSE


def width_note() -> str:
    """What a reader has to know where pages do not draw the bins that the gate looks up; "" where they do."""
    own = settings.SERVICE.calibration.bin_width
    if drawn_width() == own:
        return ""
    return (
        f"Drawn in bins of {drawn_width() * 100:g} points. The gate looks up bins of {own * 100:g} "
        "(calibration.bin_width), too many to draw: the API has them all."
    )


def share_of(query: QueryDict, name: str) -> float | None:
    """A number from 0 to 1, or None when it is absent. Raises BadAddress."""
    given = query.get(name, "")
    if not given:
        return None
    try:
        return unit(name, float(given))
    except ValueError as error:
        raise BadAddress(f"{name} must be a number from 0 to 1, not “{given[:80]}”.") from error


def stage_of(query: QueryDict) -> Stage:
    """testing, production, or all (both) when it names none. Raises BadAddress."""
    return cast(Stage, one_of(query, "stage", ("all", *STAGES)) or "all")


def width_of(query: QueryDict, *, most: int = MOST_BINS) -> float:
    """The width of bins, the one that pages draw when it names none. Raises BadAddress unless it divides 1 into at
    most ``most``.
    """
    given = query.get("width")
    if not given:
        return drawn_width()
    try:
        # As a float first: "1e-999999999" as an exact fraction would be a number of a billion digits.
        width = float(given)
        bins = bins_of(width)
    except ValueError as error:
        raise BadAddress(f"width must divide 1 exactly (0.1, 0.05, 0.2, 0.25 ...), not “{given[:80]}”.") from error
    if bins > most:
        raise BadAddress(f"width must be at least {1 / most:g}, or there would be more bins than a page can show.")
    return width


def query_string(**values: object) -> str:
    """A query string of everything that is set: empty texts and None are left out."""
    return urlencode({name: str(value) for name, value in values.items() if value not in (None, "")})
