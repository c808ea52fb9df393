"""Reading runs, following them, and cancelling one."""

import uuid
from typing import Any

from django.db.models import Prefetch, QuerySet
from django.http import QueryDict
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.access.roles import name_of
from runs.api import bodies, parameters
from runs.api.errors import Conflict, ErrorBody
from runs.engine.closing import cancel
from runs.ids import first_at, last_of
from runs.models import Role, Run, RunEvent, RunStatus, Signal, Step
from runs.models.run import STAGES

LIST_PARAMETERS = ("status", "pipeline", "stage", "team", "source", "since", "until", "after", "limit")
PAGE, PAGE_MAX = 50, 200
EVENTS, EVENTS_MAX = 500, 2000
BIGGEST_ID = 2**63 - 1
_EVENT_AFTER = OpenApiParameter("after", int, description="The `next` of the answer before.")


class RunList(APIView):
    """The newest runs first, a page at a time."""

    required_role = Role.VIEWER

    @extend_schema(
        operation_id="list_runs",
        responses={200: bodies.RunListBody, 400: ErrorBody},
        parameters=[
            OpenApiParameter("status", enum=RunStatus.values, many=True, explode=False),
            OpenApiParameter("pipeline"),
            OpenApiParameter("stage", enum=STAGES),
            OpenApiParameter("team"),
            OpenApiParameter("source"),
            OpenApiParameter("since", description="ISO 8601; runs triggered then or later."),
            OpenApiParameter("until", description="ISO 8601; runs triggered before then."),
            OpenApiParameter("after", uuid.UUID, description="The `next` of the page before."),
            OpenApiParameter("limit", int, default=PAGE, description=f"1 to {PAGE_MAX}"),
        ],
    )
    @parameters.takes(
        "status", "pipeline", "stage", "team", "source", "since", "until", "after", "limit", many=("status",)
    )
    def get(self, request: Request) -> Response:
        limit = parameters.number(request.GET, "limit", default=PAGE, low=1, high=PAGE_MAX)
        # One more than asked for tells whether another page follows, without a count.
        found = _newest(_filtered(request.GET), parameters.choices(request.GET, "status", RunStatus.values), limit + 1)
        page = found[:limit]
        following = page[-1].id if len(found) > limit else None
        return Response({"runs": [bodies.run_summary(run) for run in page], "next": following})


def _newest(runs: QuerySet[Run], statuses: list[str], count: int) -> list[Run]:
    """The newest ``count``. One read of an index for each status: for several at once, SQLite walks the history."""
    newest = runs.defer("context", "payload").order_by("-id")
    if not statuses:
        return list(newest[:count])
    found = [run for status in set(statuses) for run in newest.filter(status=status)[:count]]
    return sorted(found, key=lambda run: run.id, reverse=True)[:count]


def _filtered(query: QueryDict) -> QuerySet[Run]:
    since, until = parameters.moment(query, "since"), parameters.moment(query, "until")
    bounds = [parameters.identity(query, "after"), last_of(until) if until else None]
    filters: dict[str, Any] = {
        "pipeline_name": parameters.text(query, "pipeline"),
        "stage": parameters.choice(query, "stage", STAGES),
        "team": parameters.text(query, "team"),
        "source": parameters.text(query, "source"),
        "triggered_at__gte": since,
        "triggered_at__lt": until,
        # No run was triggered after its id was made, or long before: the primary key bounds the walk.
        "id__gte": first_at(since) if since else None,
        "id__lt": min((bound for bound in bounds if bound), default=None),
    }
    return Run.objects.filter(**{name: value for name, value in filters.items() if value is not None})


class RunDetail(APIView):
    """One run with its steps, their signals and their trust reports."""

    required_role = Role.VIEWER

    @extend_schema(operation_id="get_run", responses={200: bodies.RunBody, 404: ErrorBody})
    @parameters.takes()
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        run = _run(run_id, defer=("payload",))
        signals = Signal.objects.defer("prompt", "raw_output").order_by("iteration", "kind", "position")
        steps = (
            Step.objects.filter(run_id=run_id)
            .defer("prompt", "raw_output", "agent_trace", "iterations")
            .prefetch_related(Prefetch("signals", signals))
            .order_by("index", "id")
        )
        return Response(bodies.run_body(run, list(steps)))


class RunEvents(APIView):
    """The run's log, oldest first; ask again with ``after`` to follow it."""

    required_role = Role.VIEWER

    @extend_schema(
        operation_id="list_run_events",
        responses={200: bodies.EventListBody, 400: ErrorBody, 404: ErrorBody},
        parameters=[_EVENT_AFTER, OpenApiParameter("limit", int, default=EVENTS, description=f"1 to {EVENTS_MAX}")],
    )
    @parameters.takes("after", "limit")
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        after = parameters.number(request.GET, "after", default=0, low=0, high=BIGGEST_ID)
        limit = parameters.number(request.GET, "limit", default=EVENTS, low=1, high=EVENTS_MAX)
        # The status is read first: an end seen here has all its events in what is read next.
        run = _run(run_id, defer=("context", "payload"))
        events = list(RunEvent.objects.filter(run_id=run_id, id__gt=after).order_by("id")[:limit])
        return Response(
            {
                "events": [bodies.event_body(event) for event in events],
                "next": events[-1].pk if events else after,
                "status": run.status,
            }
        )


class CancelledBody(serializers.Serializer[Any]):
    status = serializers.CharField()
    run_id = serializers.UUIDField()


class CancelRun(APIView):
    """Waiting work never starts, running agents are stopped."""

    required_role = Role.OPERATOR

    @extend_schema(
        operation_id="cancel_run",
        request=None,
        responses={200: CancelledBody, 404: ErrorBody, 409: ErrorBody},
    )
    @parameters.takes()
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        if not cancel(run_id=run_id, by=name_of(request.user), now=timezone.now()):
            run = _run(run_id, defer=("context", "payload"))
            raise Conflict(f"The run has ended already ({run.status}).")
        return Response({"status": RunStatus.CANCELLED, "run_id": run_id})


def _run(run_id: uuid.UUID, *, defer: tuple[str, ...]) -> Run:
    try:
        return Run.objects.defer(*defer).get(id=run_id)
    except Run.DoesNotExist:
        raise NotFound(f"There is no run {run_id}.") from None
