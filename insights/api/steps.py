"""``GET /steps`` and ``GET /steps/{name}``: what is known of the answers of each step."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from calibration.flags import Flag
from calibration.summary import Stage
from insights.api.counting import STAGE, stage_of
from insights.measures import Share
from insights.overview import Record, StepRecord, step_records
from insights.recent import ANSWERS, latest_of, newest_buckets, newest_samples
from insights.said_shown import Comparison, answers_of, compare
from insights.standings import narrowed, step_standings
from runs.api import parameters
from runs.api.errors import ErrorBody
from runs.models import Role, Step

PAGE, PAGE_MAX = 50, 200
FLAG = ("direction", "lo", "hi", "n", "mean_confidence", "accuracy", "supported", "sentence")


class ShareBody(serializers.Serializer[Any]):
    n = serializers.IntegerField(help_text="Of how many.")
    value = serializers.FloatField(allow_null=True, help_text="From 0 to 1; null of none.")
    interval = serializers.ListField(child=serializers.FloatField(), allow_null=True, help_text="95 % (Wilson).")


class FlagBody(serializers.Serializer[Any]):
    direction = serializers.ChoiceField(choices=["over", "under"], help_text="over: it claims more than it holds.")
    lo = serializers.FloatField()
    hi = serializers.FloatField()
    n = serializers.IntegerField()
    mean_confidence = serializers.FloatField()
    accuracy = serializers.FloatField()
    supported = serializers.BooleanField(help_text="Whether the 95 % interval leaves the mean confidence out.")
    sentence = serializers.CharField()


class StepSummaryBody(serializers.Serializer[Any]):
    step_name = serializers.CharField()
    agents = serializers.ListField(child=serializers.CharField())
    buckets = serializers.IntegerField(help_text="Agents, models and versions that are measured apart.")
    labelled = serializers.IntegerField()
    validated_bins = serializers.IntegerField()
    flags = serializers.IntegerField(help_text="Validated bins 15 points or more from what they claim.")
    worst = FlagBody(allow_null=True)


class StepListBody(serializers.Serializer[Any]):
    steps = StepSummaryBody(many=True)
    next = serializers.CharField(allow_null=True, help_text="The `after` of the next page; null on the last.")


class LabelsBody(serializers.Serializer[Any]):
    step_mark = serializers.IntegerField()
    failed_check = serializers.IntegerField()
    run_mark = serializers.IntegerField()


class StepRecordBody(serializers.Serializer[Any]):
    agent = serializers.CharField()
    provider = serializers.CharField(help_text="Empty when the agent did not report it; so for the next three.")
    model = serializers.CharField()
    prompt_hash = serializers.CharField()
    agent_version = serializers.CharField()
    in_use = serializers.BooleanField(help_text="Of this agent's versions, the one that answered last.")
    last_seen_at = serializers.DateTimeField(allow_null=True)
    mean_confidence = serializers.FloatField(allow_null=True, help_text="Of labelled answers.")
    accuracy = ShareBody()
    labels = LabelsBody()
    validated_bins = serializers.IntegerField()
    flags = FlagBody(many=True)
    recommendation = serializers.CharField(allow_null=True)


class SaidShownBody(serializers.Serializer[Any]):
    n = serializers.IntegerField(help_text=f"Judged answers among the newest {ANSWERS}.")
    mean_said = serializers.FloatField()
    mean_shown = serializers.FloatField()
    wide_gap = ShareBody(help_text="20 points or more apart.")
    would_be_capped = ShareBody(help_text="Of those in shadow mode, had grounding been enforced.")
    would_fall = ShareBody(help_text="Of those in shadow mode: it cleared the threshold, and would not have.")


class StepDetailBody(serializers.Serializer[Any]):
    step_name = serializers.CharField()
    pipeline = serializers.CharField(allow_null=True, help_text="Where it ran last.")
    confidence_threshold = serializers.FloatField(allow_null=True, help_text="In its last run.")
    records = StepRecordBody(many=True)
    said_against_shown = SaidShownBody(allow_null=True, help_text="null when nothing was judged.")


class StepList(APIView):
    """Every step of which an agent has claimed a confidence, by name."""

    required_role = Role.VIEWER

    @extend_schema(
        operation_id="list_steps",
        parameters=[
            STAGE,
            OpenApiParameter("agent", description="executor:name"),
            OpenApiParameter("after", description="The `next` of the page before."),
            OpenApiParameter("limit", int, default=PAGE, description=f"1 to {PAGE_MAX}"),
        ],
        responses={200: StepListBody, 400: ErrorBody},
    )
    @parameters.takes("stage", "agent", "after", "limit")
    def get(self, request: Request) -> Response:
        query = request.GET
        limit = parameters.number(query, "limit", default=PAGE, low=1, high=PAGE_MAX)
        agent, after = parameters.text(query, "agent"), parameters.text(query, "after")
        stage = stage_of(query)
        every = narrowed(step_standings(**_counting(stage)), agent=agent or "")
        found = sorted((step for step in every if after is None or step.name > after), key=lambda step: step.name)
        shown, following = found[:limit], found[limit - 1].name if len(found) > limit else None
        ids = [one.bucket_id for step in shown for one in step.buckets]
        return Response({"steps": [_step(step) for step in _records(stage, ids)], "next": following})


class StepDetail(APIView):
    """One step: each agent and version that does it, and what its evidence shows."""

    required_role = Role.VIEWER

    @extend_schema(
        operation_id="get_step",
        parameters=[STAGE],
        responses={200: StepDetailBody, 400: ErrorBody, 404: ErrorBody},
    )
    @parameters.takes("stage")
    def get(self, request: Request, name: str) -> Response:
        stage = stage_of(request.GET)
        buckets = newest_buckets(name) if "\x00" not in name else []
        if not buckets and ("\x00" in name or not Step.objects.filter(name=name).exists()):
            raise NotFound(f"No step called {name[:200]} has run.")
        recent = newest_samples(buckets, limit=ANSWERS)
        latest = latest_of(recent)
        records = [one for step in _records(stage, buckets) for one in step.records]
        body = {
            "step_name": name,
            "pipeline": latest.get("run__pipeline_name"),
            "confidence_threshold": latest.get("confidence_threshold"),
            "records": [_record(one) for one in records],
            "said_against_shown": _said_shown(compare(answers_of(recent))),
        }
        return Response(body)


def _counting(stage: Stage) -> dict[str, Any]:
    service = settings.SERVICE.calibration
    return {"stage": stage, "bin_width": service.bin_width, "n_min": service.n_min}


def _records(stage: Stage, buckets: list[int]) -> list[StepRecord]:
    """By name."""
    return step_records(**_counting(stage), bucket_ids=buckets)


def _step(step: StepRecord) -> dict[str, Any]:
    return {
        "step_name": step.name,
        "agents": sorted({one.summary.key.agent for one in step.records}),
        "buckets": len(step.records),
        "labelled": step.total_n,
        "validated_bins": step.validated,
        "flags": step.flags,
        "worst": step.worst and _flag(step.worst),
    }


def _record(record: Record) -> dict[str, Any]:
    summary, key = record.summary, record.summary.key
    labels = {"step_mark": summary.by_step_mark, "failed_check": summary.by_failed_check}
    return {
        "agent": key.agent,
        "provider": key.provider,
        "model": key.model,
        "prompt_hash": key.prompt_hash,
        "agent_version": key.agent_version,
        "in_use": record.in_use,
        "last_seen_at": record.last_seen,
        "mean_confidence": record.said,
        "accuracy": _share(record.accuracy),
        "labels": {**labels, "run_mark": summary.by_run_mark},
        "validated_bins": record.validated,
        "flags": [_flag(one) for one in summary.flags],
        "recommendation": summary.recommendation,
    }


def _flag(flag: Flag) -> dict[str, Any]:
    return {name: getattr(flag, name) for name in FLAG}


def _share(share: Share) -> dict[str, Any]:
    return {"n": share.n, "value": share.value, "interval": share.interval and list(share.interval)}


def _said_shown(found: Comparison | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "n": len(found.answers),
        "mean_said": found.mean_said,
        "mean_shown": found.mean_shown,
        "wide_gap": _share(found.wide),
        "would_be_capped": _share(found.capped),
        "would_fall": _share(found.fallen),
    }
