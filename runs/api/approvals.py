"""Approvals: what people are asked before a run goes on, one of them, and answering it."""

import uuid
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
from runs.api.parameters import BadParameter
from runs.api.parsers import ObjectParser
from runs.api.question_lists import DESCRIBED, NAMES, NEXT, asked_for
from runs.api.strict import Strict, Text, Word
from runs.escalations import listing
from runs.escalations.answering import ANSWERS, Answered, answer
from runs.escalations.answers import answers
from runs.escalations.asked import BadDecision
from runs.escalations.deciding import AlreadyClosed
from runs.models import Approval, ApprovalKind, ApprovalState, Role
from runs.storable import REASON_CHARS


class ApprovalBody(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=ApprovalState.values)
    kind = serializers.ChoiceField(choices=ApprovalKind.values, help_text="A human step, or a human check of a step.")
    name = serializers.CharField(help_text="The step's, or the check's.")
    run_id = serializers.UUIDField()
    run_status = serializers.CharField()
    pipeline_name = serializers.CharField()
    stage = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    summary = serializers.CharField(allow_null=True, help_text="Of the run.")
    step_name = serializers.CharField()
    agent = serializers.CharField(allow_null=True)
    to = serializers.CharField(allow_null=True, help_text="The group that is asked.")
    opened_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField(allow_null=True, help_text="From then on silence counts as no.")
    closed_at = serializers.DateTimeField(allow_null=True)
    closed_by = serializers.CharField(allow_null=True)
    reason = serializers.CharField(help_text="Of the answer.")


class ApprovalRowBody(ApprovalBody):
    message_head = serializers.CharField(help_text=f"The first {listing.HEAD} characters of what is asked.")


class AnswersBody(serializers.Serializer[Any]):
    approve = serializers.CharField()
    reject = serializers.CharField()
    silence = serializers.CharField()


class ApprovalDetailBody(ApprovalBody):
    message = serializers.CharField(help_text="What is asked.")
    output = serializers.JSONField(allow_null=True, help_text="Of a check: the answer that is to be checked.")
    next = AnswersBody(allow_null=True, help_text="What each answer would do; null once it is closed.")


class ApprovalListBody(serializers.Serializer[Any]):
    approvals = ApprovalRowBody(many=True)
    next = serializers.UUIDField(allow_null=True, help_text=NEXT)


class Answer(Strict):
    answer = Word(tuple(ANSWERS))
    reason = Text(required=False, max_length=REASON_CHARS, help_text="Needed to reject.")


class ApprovalList(APIView):
    """Those that wait, longest first; or those that are closed, newest first."""

    required_role = Role.VIEWER

    @extend_schema(
        operation_id="list_approvals",
        responses={200: ApprovalListBody, 400: ErrorBody},
        parameters=DESCRIBED,
    )
    @parameters.takes(*NAMES)
    def get(self, request: Request) -> Response:
        found = asked_for(request.GET, listing.APPROVALS, one="an approval")
        rows: list[Any] = list(found.rows)
        return Response(
            {"approvals": [{**_body(one), "message_head": one.message_head} for one in rows], "next": found.after}
        )


class ApprovalDetail(APIView):
    """One approval: the whole question, and what each answer would do."""

    required_role = Role.VIEWER

    @extend_schema(operation_id="get_approval", responses={200: ApprovalDetailBody, 404: ErrorBody})
    @parameters.takes()
    def get(self, request: Request, approval_id: uuid.UUID) -> Response:
        return Response(_detail(approval_id))


class AnswerApproval(APIView):
    """Approve or reject: the step goes on at once. 409 says who was quicker; nothing was recorded then."""

    required_role = Role.OPERATOR
    parser_classes = [ObjectParser]

    @extend_schema(
        operation_id="answer_approval",
        request=Answer,
        responses={200: ApprovalDetailBody, 400: ErrorBody, 404: ErrorBody, 409: ErrorBody},
    )
    @parameters.takes()
    def post(self, request: Request, approval_id: uuid.UUID) -> Response:
        given = Answer(data=request.data)
        given.is_valid(raise_exception=True)
        try:
            answer(approval_id, Answered(**given.validated_data), by=name_of(request.user), now=timezone.now())
        except Approval.DoesNotExist:
            raise _not_there(approval_id) from None
        except BadDecision as error:
            raise BadParameter(*next(iter(error.problems.items()))) from error
        except AlreadyClosed as error:
            raise Conflict(str(error)) from error
        return Response(_detail(approval_id))


def _not_there(approval_id: uuid.UUID) -> NotFound:
    return NotFound(f"There is no approval {approval_id}.")


def _detail(approval_id: uuid.UUID) -> dict[str, Any]:
    rows = Approval.objects.select_related("run__version", "step").defer("run__context", "run__payload")
    one = rows.filter(id=approval_id).first()
    if one is None:
        raise _not_there(approval_id)
    return {
        **_body(one),
        "message": one.message,
        "output": one.step.parsed_output if one.kind == ApprovalKind.CHECK else None,
        "next": vars(answers(one, one.run)) if one.closed_at is None else None,
    }


def _body(one: Approval) -> dict[str, Any]:
    elsewhere = {
        "run_status": one.run.status,
        "pipeline_name": one.run.pipeline_name,
        "stage": one.run.stage,
        "team": one.run.team or None,
        "summary": one.run.summary or None,
        "step_name": one.step.name,
        "agent": one.step.agent or None,
    }
    own = {name: getattr(one, name) for name in ApprovalBody._declared_fields if name not in elsewhere}
    return {**own, **elsewhere, "to": one.to or None, "closed_by": one.closed_by or None}
