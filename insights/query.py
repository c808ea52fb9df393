"""The parameters that several pages of Insights take."""

from typing import cast

from django.conf import settings
from django.http import QueryDict
from django.utils.http import urlencode

from calibration.binning import bins_of
from calibration.summary import Stage
from calibration.unit import unit
from runs.models.run import STAGES
from runs.views.query import BadAddress, one_of

MOST_BINS = 40  # a page draws each of them, for many records


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


def width_of(query: QueryDict) -> float:
    """The width of bins, the service's own when it names none. Raises BadAddress unless it divides 1."""
    given = query.get("width")
    if not given:
        return settings.SERVICE.calibration.bin_width
    try:
        # As a float first: "1e-999999999" as an exact fraction would be a number of a billion digits.
        width = float(given)
        bins = bins_of(width)
    except ValueError as error:
        raise BadAddress(f"width must divide 1 exactly (0.1, 0.05, 0.2, 0.25 ...), not “{given[:80]}”.") from error
    if bins > MOST_BINS:
        raise BadAddress(f"width must be at least {1 / MOST_BINS}, or there would be more bins than a page can show.")
    return width


def query_string(**values: object) -> str:
    """A query string of everything that is set: empty texts and None are left out."""
    return urlencode({name: str(value) for name, value in values.items() if value not in (None, "")})
