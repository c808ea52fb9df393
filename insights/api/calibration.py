"""``GET /steps/{name}/calibration``: is 90 % really 90 %, for each agent and version that does the step?"""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from calibration.bins import Bin
from calibration.summary import Summary, summaries
from insights.api import counting
from runs.api import parameters
from runs.api.errors import ErrorBody
from runs.models import Role, Step


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
        parameters=counting.PARAMETERS,
        responses={200: CalibrationBody, 400: ErrorBody, 404: ErrorBody},
    )
    @parameters.takes(*(parameter.name for parameter in counting.PARAMETERS))
    def get(self, request: Request, name: str) -> Response:
        asked = counting.counting_of(request.GET)
        found = summaries(step=name, **asked) if "\x00" not in name else []
        if not found and ("\x00" in name or not Step.objects.filter(name=name).exists()):
            raise NotFound(f"No step called {name[:200]} has run.")
        return Response({"step_name": name, "buckets": [bucket_body(one) for one in found]})


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
