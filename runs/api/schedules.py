"""When pipelines start by themselves."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.api import parameters
from runs.api.errors import ErrorBody
from runs.models import Role, RunStatus
from runs.models.run import STAGES
from runs.schedules.listing import Scheduled, schedules


class LastTickBody(serializers.Serializer[Any]):
    due_at = serializers.DateTimeField()
    run_id = serializers.UUIDField(allow_null=True, help_text="Null once the run has been removed.")
    status = serializers.ChoiceField(RunStatus.values, allow_null=True)


class ScheduleBody(serializers.Serializer[Any]):
    pipeline = serializers.CharField()
    stage = serializers.ChoiceField(STAGES)
    cron = serializers.CharField()
    timezone = serializers.CharField()
    summary = serializers.CharField(allow_blank=True)
    severity = serializers.CharField(allow_blank=True)
    labels = serializers.DictField(child=serializers.CharField())
    team = serializers.CharField(allow_blank=True)
    runs = serializers.BooleanField(help_text="False for a testing pipeline whose schedule lacks allow_testing.")
    next = serializers.ListField(child=serializers.DateTimeField(), help_text="The next three ticks.")
    last = LastTickBody(allow_null=True, help_text="The newest tick that started a run.")


class ScheduleListBody(serializers.Serializer[Any]):
    schedules = ScheduleBody(many=True)


class ScheduleList(APIView):
    """Every schedule, whatever comes next first."""

    required_role = Role.VIEWER

    @extend_schema(operation_id="list_schedules", responses={200: ScheduleListBody, 400: ErrorBody})
    @parameters.takes()
    def get(self, request: Request) -> Response:
        return Response({"schedules": [_body(one) for one in schedules(now=timezone.now())]})


def _body(one: Scheduled) -> dict[str, Any]:
    schedule = one.schedule
    return {
        "pipeline": one.pipeline,
        "stage": one.stage,
        **schedule.model_dump(include={"cron", "timezone", "summary", "severity", "labels", "team"}),
        "runs": one.runs,
        "next": one.upcoming,
        "last": None
        if one.last is None
        else {
            "due_at": one.last.due_at,
            "run_id": one.last.run_id,
            "status": one.last.run.status if one.last.run else None,
        },
    }
