"""Escalations: what waits for a person, one of them, and deciding on it."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
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
from runs.api.strict import Count, Strict, Text, Word
from runs.escalations import listing
from runs.escalations.asked import DECISIONS, GROUP_CHARS, Asked, BadDecision, decide
from runs.escalations.consequences import consequences, proceeds, silence
from runs.escalations.deciding import BadRevision, TooLate
from runs.models import Decision, Escalation, EscalationState, Role
from runs.storable import REASON_CHARS

HISTORY = 200


class DecisionBody(serializers.Serializer[Any]):
    decision = serializers.ChoiceField(choices=Decision.Kind.values)
    by = serializers.CharField()
    reason = serializers.CharField()
    to = serializers.CharField(allow_null=True, help_text="Whom it was handed on to.")
    changes = serializers.JSONField(
        allow_null=True, help_text="Of a revision: {field: [before, after]}, null where there is no such field."
    )
    at = serializers.DateTimeField()


class EscalationBody(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=EscalationState.values)
    run_id = serializers.UUIDField()
    run_status = serializers.CharField()
    pipeline_name = serializers.CharField()
    stage = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    summary = serializers.CharField(allow_null=True, help_text="Of the run.")
    step_name = serializers.CharField()
    agent = serializers.CharField(allow_null=True)
    combined_trust = serializers.FloatField(allow_null=True)
    confidence_threshold = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(help_text="Why a person is asked.")
    to = serializers.CharField(allow_null=True, help_text="The group that is asked now.")
    tier = serializers.IntegerField(help_text="How often it was handed on.")
    opened_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField(allow_null=True)
    overdue_since = serializers.DateTimeField(allow_null=True, help_text="The deadline that passed without a decision.")
    on_timeout = serializers.ChoiceField(choices=("abort", "keep"))
    closed_at = serializers.DateTimeField(allow_null=True)
    closed_by = serializers.CharField(allow_null=True)


class ConsequencesBody(serializers.Serializer[Any]):
    approve = serializers.CharField()
    revise = serializers.CharField(allow_null=True, help_text="Null where there is no output to revise.")
    escalate = serializers.CharField()
    abort = serializers.CharField()
    silence = serializers.CharField()


class EscalationDetailBody(EscalationBody):
    output = serializers.JSONField(allow_null=True, help_text="The answer as the agent gave it.")
    revised_output = serializers.JSONField(allow_null=True, help_text="The answer as a person put it right.")
    decisions = DecisionBody(many=True, help_text=f"The newest {HISTORY}, oldest first.")
    next = ConsequencesBody(allow_null=True, help_text="What each decision would do; null once it is closed.")


class EscalationListBody(serializers.Serializer[Any]):
    escalations = EscalationBody(many=True)
    next = serializers.UUIDField(allow_null=True, help_text=NEXT)


class Decide(Strict):
    decision = Word(DECISIONS)
    reason = Text(max_length=REASON_CHARS)
    output = serializers.JSONField(required=False, help_text="With revise: the whole output, held to the contract.")
    to = Text(required=False, max_length=GROUP_CHARS, help_text="With escalate: the group that is asked next.")
    tier = Count(required=False, help_text="Decide only if it was handed on just so often, as you have seen it.")

    def validate_output(self, given: Any) -> Mapping[str, Any]:
        if not isinstance(given, Mapping):
            raise serializers.ValidationError(f"expected an object, not {type(given).__name__}")
        return given


class EscalationList(APIView):
    """Those that wait, longest first; or those that are closed, newest first."""

    required_role = Role.VIEWER

    @extend_schema(
        operation_id="list_escalations",
        responses={200: EscalationListBody, 400: ErrorBody},
        parameters=[*DESCRIBED, OpenApiParameter("overdue", bool, description="Only those whose deadline has passed.")],
    )
    @parameters.takes(*NAMES, "overdue")
    def get(self, request: Request) -> Response:
        found = asked_for(
            request.GET, listing.ESCALATIONS, one="an escalation", overdue=parameters.truth(request.GET, "overdue")
        )
        return Response({"escalations": [_body(one) for one in found.rows], "next": found.after})


class EscalationDetail(APIView):
    """One escalation with its answer, what was said about it so far, and what each decision would do."""

    required_role = Role.VIEWER

    @extend_schema(operation_id="get_escalation", responses={200: EscalationDetailBody, 404: ErrorBody})
    @parameters.takes()
    def get(self, request: Request, escalation_id: uuid.UUID) -> Response:
        return Response(_detail(escalation_id))


class DecideEscalation(APIView):
    """Decide: the run goes on at once, ends, or waits for the group that is asked next.

    409 says who was quicker; nothing was recorded then.
    """

    required_role = Role.OPERATOR
    parser_classes = [ObjectParser]

    @extend_schema(
        operation_id="decide_escalation",
        request=Decide,
        responses={200: EscalationDetailBody, 400: ErrorBody, 404: ErrorBody, 409: ErrorBody},
    )
    @parameters.takes()
    def post(self, request: Request, escalation_id: uuid.UUID) -> Response:
        given = Decide(data=request.data)
        given.is_valid(raise_exception=True)
        try:
            decide(escalation_id, Asked(**given.validated_data), by=name_of(request.user), now=timezone.now())
        except Escalation.DoesNotExist:
            raise _not_there(escalation_id) from None
        except (BadDecision, BadRevision) as error:
            raise _refused(error) from error
        except TooLate as error:
            raise Conflict(str(error)) from error
        return Response(_detail(escalation_id))


def _refused(error: BadDecision | BadRevision) -> BadParameter:
    """The first thing that is wrong, by the path of its field."""
    name, problem = next(iter(error.problems.items()))
    if isinstance(error, BadRevision):
        return BadParameter(f"output.{name}" if name else "output", str(error))
    return BadParameter(name, problem)


def _not_there(escalation_id: uuid.UUID) -> NotFound:
    return NotFound(f"There is no escalation {escalation_id}.")


def _detail(escalation_id: uuid.UUID) -> dict[str, Any]:
    rows = Escalation.objects.select_related("run__version", "step").defer("run__context", "run__payload")
    one = rows.filter(id=escalation_id).first()
    if one is None:
        raise _not_there(escalation_id)
    return {
        **_body(one),
        "output": one.step.parsed_output,
        "revised_output": one.step.revised_output,
        "decisions": [_decision(row) for row in reversed(one.decisions.order_by("-id")[:HISTORY])],
        "next": _next(one) if one.closed_at is None else None,
    }


def _next(one: Escalation) -> dict[str, str | None]:
    told = consequences(one, one.run, proceed=proceeds(one.step_id))
    return {
        "approve": told.approve,
        "revise": told.revise or None,
        "escalate": told.escalate,
        "abort": told.abort,
        "silence": silence(one),
    }


def _body(one: Escalation) -> dict[str, Any]:
    of_run = {"run_status": one.run.status, "summary": one.run.summary or None, "team": one.run.team or None}
    of_step = {"step_name": one.step.name, "agent": one.step.agent or None}
    elsewhere = {"pipeline_name": one.run.pipeline_name, "stage": one.run.stage, **of_run, **of_step}
    numbers = {name: getattr(one.step, name) for name in ("combined_trust", "confidence_threshold")}
    own = {
        name: getattr(one, name)
        for name in EscalationBody._declared_fields
        if name not in elsewhere and name not in numbers
    }
    return {**own, **elsewhere, **numbers, "to": one.to or None, "closed_by": one.closed_by or None}


def _decision(row: Decision) -> dict[str, Any]:
    return {
        "decision": row.kind,
        "by": row.by,
        "reason": row.reason,
        "to": row.to or None,
        "changes": row.changes,
        "at": row.at,
    }
