"""What every endpoint that shows calibration can be asked to count, and in bins of what width."""

from django.conf import settings
from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter

from calibration import binning
from calibration.summary import SHOWN, Stage
from insights.query import Counting
from runs.api import parameters
from runs.api.errors import BadParameter

MOST_BINS = 1000  # narrower ones would hold next to nothing, and an answer of a million bins serves nobody
MOST_LABELS = 1_000_000
STAGE = OpenApiParameter("stage", str, enum=list(SHOWN), description="all if absent.")
PARAMETERS = [
    OpenApiParameter("bin_width", float, description="Must divide 1; the service's own if absent."),
    OpenApiParameter("n_min", int, description="Labels that validate a bin; the service's own if absent."),
    STAGE,
]


def counting_of(query: QueryDict) -> Counting:
    """What is asked for, with the service's own settings for the rest. Raises BadParameter."""
    service = settings.SERVICE.calibration
    return Counting(
        bin_width=_width(query, default=service.bin_width),
        n_min=parameters.number(query, "n_min", default=service.n_min, low=1, high=MOST_LABELS),
        stage=stage_of(query),
    )


def stage_of(query: QueryDict) -> Stage:
    return parameters.choice(query, "stage", list(SHOWN)) or "all"  # type: ignore[return-value]


def _width(query: QueryDict, *, default: float) -> float:
    given = parameters.text(query, "bin_width")
    if given is None:
        return default
    try:
        # As a float first: "1e-999999999" as an exact fraction would be a number of a billion digits.
        width = float(given)
        bins = binning.bins_of(width)
    except ValueError:
        bins = MOST_BINS + 1
    if bins > MOST_BINS:
        message = f"bin_width must divide 1 into at most {MOST_BINS} bins, which {given[:50]!r} does not."
        raise BadParameter("bin_width", message, allowed=["0.1", "0.05", "0.2", "0.25", "0.5", "…"])
    return width
