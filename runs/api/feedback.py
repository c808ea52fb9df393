"""What people say happened: marks on a run as a whole and on one of its steps."""

import uuid
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from calibration.labels import NoSuchSample
from calibration.models import Mark, Outcome, Sample
from runs.api import parameters
from runs.api.errors import Conflict, ErrorBody
from runs.api.parsers import ObjectParser
from runs.api.strict import Strict, Text, Word
from runs.marking import history
from runs.marking.markers import NOTE_CHARS, marker_of
from runs.marking.marks import mark_run, mark_step
from runs.models import Role, Run, Step
from runs.models.run import IN_FLIGHT

PAGE, PAGE_MAX = 50, 200
BIGGEST_ID = 2**63 - 1
_PAGING = [
    OpenApiParameter("after", int, description="The `next` of the page before."),
    OpenApiParameter("limit", int, default=PAGE, description=f"1 to {PAGE_MAX}"),
]


class Judgement(Strict):
    outcome = Word(Outcome.values)
    note = Text(default="", allow_blank=True, max_length=NOTE_CHARS)
    notes = Text(required=False, allow_blank=True, max_length=NOTE_CHARS, help_text="Another name for `note`.")

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if given.get("notes") and given["note"]:
            raise serializers.ValidationError({"notes": "the same as note; give one of the two"})
        return {"outcome": given["outcome"], "note": given["note"] or given.get("notes", "")}


class MarkBody(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    outcome = serializers.ChoiceField(choices=Outcome.values)
    note = serializers.CharField()
    by = serializers.CharField(help_text="The person's name, or `team:NAME` for marks with that team's tokens.")
    made_at = serializers.DateTimeField()
    is_current = serializers.BooleanField(help_text="False once the same person marked it again or took it back.")
    undone_at = serializers.DateTimeField(allow_null=True)
    was_blind = serializers.BooleanField(
        allow_null=True, help_text="Whether the marker had not seen the machine's own scores; null is unknown."
    )
    via = serializers.CharField()
    offered_by = serializers.CharField(allow_null=True, help_text="The queue's order that offered it.")


class RunFeedbackBody(serializers.Serializer[Any]):
    run_id = serializers.UUIDField()
    marks = MarkBody(many=True)
    next = serializers.IntegerField(allow_null=True, help_text="Give it as `after` for older marks.")


class StepFeedbackBody(RunFeedbackBody):
    step_name = serializers.CharField()
    label = serializers.FloatField(  # type: ignore[assignment]
        allow_null=True, help_text="1 correct, 0.5 partial, 0 incorrect, or a mean; null while nobody knows."
    )
    label_source = serializers.CharField(allow_null=True, help_text="step_mark, failed_check or run_mark")


class _Feedback(APIView):
    parser_classes = [ObjectParser]

    @property
    def required_role(self) -> Role:
        return Role.VIEWER if self.request.method in SAFE_METHODS else Role.MARKER


class RunFeedback(_Feedback):
    """Marks on the run as a whole. They label the steps that nothing closer labels."""

    @extend_schema(
        operation_id="list_run_feedback",
        parameters=_PAGING,
        responses={200: RunFeedbackBody, 400: ErrorBody, 404: ErrorBody},
    )
    @parameters.takes("after", "limit")
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        _run(run_id)
        return Response({"run_id": run_id, **_page(request, history.marks_on_run(run_id))})

    @extend_schema(
        operation_id="mark_run",
        request=Judgement,
        responses={200: MarkBody, 201: MarkBody, 400: ErrorBody, 404: ErrorBody, 409: ErrorBody},
    )
    @parameters.takes()
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        judgement = _judgement(request)
        if _run(run_id).status in IN_FLIGHT:
            raise Conflict("The run has not ended yet.")
        now = timezone.now()
        mark = mark_run(run_id=run_id, by=marker_of(request.user), **judgement, was_blind=None, via="api", now=now)
        return _made(mark, is_new=mark.made_at == now)


class StepFeedback(_Feedback):
    """Marks on one step, and the label they give it."""

    @extend_schema(
        operation_id="list_step_feedback",
        parameters=_PAGING,
        responses={200: StepFeedbackBody, 400: ErrorBody, 404: ErrorBody},
    )
    @parameters.takes("after", "limit")
    def get(self, request: Request, run_id: uuid.UUID, step_name: str) -> Response:
        step = _step(run_id, step_name)
        sample = Sample.objects.filter(pk=step.pk).only("label", "label_source").first()
        body = {
            "run_id": run_id,
            "step_name": step.name,
            "label": sample.label if sample else None,
            "label_source": (sample.label_source or None) if sample else None,
        }
        return Response({**body, **_page(request, history.marks_on_step(step.pk))})

    @extend_schema(
        operation_id="mark_step",
        request=Judgement,
        responses={200: MarkBody, 201: MarkBody, 400: ErrorBody, 404: ErrorBody, 409: ErrorBody},
    )
    @parameters.takes()
    def post(self, request: Request, run_id: uuid.UUID, step_name: str) -> Response:
        judgement = _judgement(request)
        step = _step(run_id, step_name)
        now = timezone.now()
        try:
            mark = mark_step(
                step_id=step.pk, by=marker_of(request.user), **judgement, was_blind=None, via="api", now=now
            )
        except NoSuchSample:
            raise Conflict(
                f"{step.name} is {step.status} and has no confidence, so there is nothing to mark."
            ) from None
        return _made(mark, is_new=mark.made_at == now)


def _judgement(request: Request) -> dict[str, Any]:
    judgement = Judgement(data=request.data)
    judgement.is_valid(raise_exception=True)
    return dict(judgement.validated_data)


def _run(run_id: uuid.UUID) -> Run:
    try:
        return Run.objects.only("id", "status").get(id=run_id)
    except Run.DoesNotExist:
        raise NotFound(f"There is no run {run_id}.") from None


def _step(run_id: uuid.UUID, name: str) -> Step:
    steps = Step.objects.only("id", "name", "status").filter(run_id=run_id)
    # A NUL is in no name, and PostgreSQL cannot even look for one.
    found = None if "\x00" in name else steps.filter(name=name).first()
    if found is None:
        known = ", ".join(steps.order_by("index", "id").values_list("name", flat=True)[:20])
        raise NotFound(f"Run {_run(run_id).pk} has no step {name[:100]!r}. It has: {known or 'none yet'}.")
    return found


def _page(request: Request, marks: QuerySet[Mark]) -> dict[str, Any]:
    limit = parameters.number(request.GET, "limit", default=PAGE, low=1, high=PAGE_MAX)
    after = parameters.number(request.GET, "after", default=0, low=0, high=BIGGEST_ID)
    if after:
        last = marks.filter(pk=after).first()
        if last is None:
            raise parameters.BadParameter("after", "after must be the `next` of the page before.")
        marks = history.before(marks, last)
    found = list(marks[: limit + 1])
    shown = found[:limit]
    return {
        "marks": [_body(mark) for mark in shown],
        "next": shown[-1].pk if len(found) > limit else None,
    }


def _made(mark: Mark, *, is_new: bool) -> Response:
    """201; 200 when the very same mark stood there already, and a second submit changed nothing."""
    return Response(_body(mark), status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)


def _body(mark: Mark) -> dict[str, Any]:
    row = {name: getattr(mark, name) for name in MarkBody._declared_fields if name != "by"}
    return {**row, "by": mark.by.get_username(), "offered_by": mark.offered_by or None}
