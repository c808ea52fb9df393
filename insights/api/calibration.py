"""``GET /steps/{name}/calibration``: is 90 % really 90 %, for each agent and version that does the step?"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from calibration import binning
from calibration.bins import Bin
from calibration.summary import SHOWN, Summary, summaries
from runs.api import parameters
from runs.api.errors import BadParameter, ErrorBody
from runs.models import Role, Step

MOST_BINS = 1000  # narrower ones would hold next to nothing, and an answer of a million bins serves nobody
MOST_LABELS = 1_000_000


class BinBody(serializers.Serializer[Any]):
    lo = serializers.FloatField(help_text="The bin is [lo, hi); the last one holds 1.0 too.")
    hi = serializers.FloatField()
    n = serializers.IntegerField(help_text="Labelled samples in the bin; replays are none.")
    mean_label = serializers.FloatField(allow_null=True, help_text="The accuracy; null in an empty bin.")
    mean_confidence = serializers.FloatField(allow_null=True)
    interval = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="95 % (Wilson) of the accuracy: [lo, hi]."
    )
    validated = serializers.BooleanField(help_text="Whether n reaches n_min.")


class BucketBody(serializers.Serializer[Any]):
    agent = serializers.CharField()
    provider = serializers.CharField(help_text="Empty when the agent did not report it; so for the next three.")
    model = serializers.CharField()
    prompt_hash = serializers.CharField()
    agent_version = serializers.CharField()
    total_n = serializers.IntegerField(help_text="Labelled samples in all bins.")
    bins = BinBody(many=True, help_text="All bins of [0, 1], the empty ones too.")
    ece = serializers.FloatField(allow_null=True, help_text="Expected calibration error; null without any label.")
    brier = serializers.FloatField(allow_null=True, help_text="Brier score; null without any label.")
    recommendation = serializers.CharField(
        allow_null=True, help_text="What the validated bin farthest from its claim suggests; null when none is far."
    )


class CalibrationBody(serializers.Serializer[Any]):
    step_name = serializers.CharField()
    buckets = BucketBody(many=True)


class StepCalibration(APIView):
    """The measured record of a step, one bucket per agent, provider, model, prompt and agent version."""

    required_role = Role.VIEWER

    @extend_schema(
        operation_id="step_calibration",
        parameters=[
            OpenApiParameter("bin_width", float, description="Must divide 1; the service's own if absent."),
            OpenApiParameter("n_min", int, description="Labels that validate a bin; the service's own if absent."),
            OpenApiParameter("stage", str, enum=list(SHOWN), description="all if absent."),
        ],
        responses={200: CalibrationBody, 400: ErrorBody, 404: ErrorBody},
    )
    @parameters.takes("bin_width", "n_min", "stage")
    def get(self, request: Request, name: str) -> Response:
        asked = _asked(request.GET)
        found = summaries(step=name, **asked) if "\x00" not in name else []
        if not found and ("\x00" in name or not Step.objects.filter(name=name).exists()):
            raise NotFound(f"No step called {name[:200]} has run.")
        return Response({"step_name": name, "buckets": [bucket_body(one) for one in found]})


def _asked(query: QueryDict) -> Mapping[str, Any]:
    service = settings.SERVICE.calibration
    return {
        "bin_width": _width(query, default=service.bin_width),
        "n_min": parameters.number(query, "n_min", default=service.n_min, low=1, high=MOST_LABELS),
        "stage": parameters.choice(query, "stage", list(SHOWN)) or "all",
    }


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


def bucket_body(summary: Summary) -> dict[str, Any]:
    """One bucket as the API shows it."""
    key = summary.key
    return {
        "agent": key.agent,
        "provider": key.provider,
        "model": key.model,
        "prompt_hash": key.prompt_hash,
        "agent_version": key.agent_version,
        "total_n": summary.total_n,
        "bins": [_bin(one) for one in summary.bins],
        "ece": summary.ece,
        "brier": summary.brier,
        "recommendation": summary.recommendation,
    }


def _bin(one: Bin) -> dict[str, Any]:
    return {
        "lo": one.lo,
        "hi": one.hi,
        "n": one.n,
        "mean_label": one.mean_label,
        "mean_confidence": one.mean_confidence,
        "interval": one.interval and [one.interval.lo, one.interval.hi],
        "validated": one.validated,
    }
