"""Pausing and resuming over HTTP: one pipeline, or everything."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.access.roles import name_of
from runs.api import parameters
from runs.api.errors import Conflict, ErrorBody
from runs.api.parsers import read_object
from runs.api.strict import Strict, Text
from runs.engine import pauses
from runs.models import Pause, Role

REASON_CHARS = 1_000
REFUSED = {400: ErrorBody, 404: ErrorBody, 409: ErrorBody}


class PauseBody(serializers.Serializer[Any]):
    pipeline = serializers.CharField(allow_null=True, help_text="Null: everything.")
    by = serializers.CharField()
    since = serializers.DateTimeField()
    reason = serializers.CharField(allow_null=True)


class PauseListBody(serializers.Serializer[Any]):
    pauses = PauseBody(many=True)


class PauseAsked(Strict):
    reason = Text(required=False, allow_blank=True, max_length=REASON_CHARS)


class ResumedBody(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["resumed"])
    pipeline = serializers.CharField(allow_null=True, help_text="Null: everything.")


class PauseList(APIView):
    """What is paused now."""

    required_role = Role.VIEWER

    @extend_schema(operation_id="list_pauses", responses={200: PauseListBody, 400: ErrorBody})
    @parameters.takes()
    def get(self, request: Request) -> Response:
        return Response({"pauses": [_body(one) for one in Pause.objects.filter(resumed_at=None).order_by("id")]})


class PausePipeline(APIView):
    """No queued run of it starts, and no new step; steps under way end. Payloads are still accepted, and wait."""

    required_role = Role.OPERATOR

    @extend_schema(operation_id="pause_pipeline", request=PauseAsked, responses={200: PauseBody, **REFUSED})
    @parameters.takes()
    def post(self, request: Request, name: str) -> Response:
        return _pause(request, name)


class ResumePipeline(APIView):
    """What waited goes on within a second or two."""

    required_role = Role.OPERATOR

    @extend_schema(operation_id="resume_pipeline", request=None, responses={200: ResumedBody, **REFUSED})
    @parameters.takes()
    def post(self, request: Request, name: str) -> Response:
        return _resume(request, name)


class PauseEverything(APIView):
    """As for one pipeline, for all of them; pipelines that are paused by themselves stay so after it."""

    required_role = Role.OPERATOR

    @extend_schema(operation_id="pause_everything", request=PauseAsked, responses={200: PauseBody, **REFUSED})
    @parameters.takes()
    def post(self, request: Request) -> Response:
        return _pause(request, pauses.EVERYTHING)


class ResumeEverything(APIView):
    """What waited goes on within a second or two, but for pipelines that are paused by themselves."""

    required_role = Role.OPERATOR

    @extend_schema(operation_id="resume_everything", request=None, responses={200: ResumedBody, **REFUSED})
    @parameters.takes()
    def post(self, request: Request) -> Response:
        return _resume(request, pauses.EVERYTHING)


def _pause(request: Request, name: str) -> Response:
    given = PauseAsked(data=read_object(request._request, empty=True))
    given.is_valid(raise_exception=True)
    reason = given.validated_data.get("reason", "")
    try:
        made = pauses.pause(name, by=name_of(request.user), reason=reason, now=timezone.now())
    except pauses.NoSuchPipeline as error:
        raise NotFound(str(error)) from error
    except pauses.AlreadyPaused as error:
        raise Conflict(str(error)) from error
    return Response(_body(made))


def _resume(request: Request, name: str) -> Response:
    try:
        pauses.resume(name, by=name_of(request.user), now=timezone.now())
    except pauses.NotPaused as error:
        raise Conflict(str(error)) from error
    return Response({"status": "resumed", "pipeline": name or None})


def _body(pause: Pause) -> dict[str, Any]:
    return {
        "pipeline": pause.pipeline_name or None,
        "by": pause.by,
        "since": pause.since,
        "reason": pause.reason or None,
    }
