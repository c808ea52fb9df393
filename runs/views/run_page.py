"""The run page and its parts: what happened, step by step, and why each step was or was not trusted."""

import datetime as dt
import json
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import TextField
from django.db.models.functions import Cast, Left, Length
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from runs.access.roles import role_required
from runs.engine import pauses
from runs.models import Role, Run, RunEvent, Step
from runs.models.run import ENDED, IN_FLIGHT
from runs.models.step import StepStatus
from runs.pipelines.definitions import GROUPS, written, written_branch
from runs.views import branch_reads, run_reads
from runs.views.branches import tables_of
from runs.views.judged import judged_run, judged_steps
from runs.views.page import page
from runs.views.query import parameters, whole_number
from runs.views.questions import approvals_of, open_of, questions_of
from runs.views.run_family import RERUNS_SHOWN, children_of, parent_of, reruns_of
from runs.views.runs_list import took
from runs.views.step_panel import Panel, panels
from runs.views.wording import ELSEWHERE, RUN_MEANING, duration

# Beyond this many steps a page shows the overview, and each panel on its own when it is asked for.
PANELS_AT_ONCE = 25
PAYLOAD_HEAD = 20_000
OVERVIEW_AT_ONCE = 500
COUNTED_FROM = 12


@dataclass(frozen=True)
class Place:
    """One line of the overview: a step that exists, or one that was not reached."""

    name: str
    step: Step | None
    branches: Mapping[str, int] = field(default_factory=dict)
    """How many branches of each status a group has."""

    @property
    def branch_count(self) -> int:
        return sum(self.branches.values())

    @property
    def branches_failed(self) -> int:
        return self.branches.get(StepStatus.FAILED, 0)

    @property
    def status(self) -> str:
        return self.step.status if self.step else "planned"


@role_required(Role.VIEWER)
@require_GET
@parameters("from")
def run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    now = timezone.now()
    found: Any = get_object_or_404(
        Run.objects.select_related("version")
        .defer("context", "payload", "version__source")
        .annotate(payload_head=Left(Cast("payload", TextField()), PAYLOAD_HEAD))
        .annotate(payload_chars=Length(Cast("payload", TextField()))),
        id=run_id,
    )
    places = _places(found)
    reached = [place for place in places if place.step]
    attention = _attention(reached)
    shown = reached if len(reached) <= PANELS_AT_ONCE else [place for place in [attention] if place]
    log_events, older = run_reads.log_of(run_id)
    context = {
        **_head(found, places, now),
        **_overview(places, _start(request, len(places))),
        "panels": panels_of(request, found, [place.step.id for place in shown if place.step]),
        "judged": judged_run(run_id, user=request.user),
        "events": log_events,
        "older_than": log_events[0].id if older else None,
        "payload": _pretty(found.payload_head, found.payload_chars),
        "payload_chars": found.payload_chars,
        "stream": _stream(found, log_events),
    }
    return page(request, "runs/detail.html", context)


@role_required(Role.VIEWER)
@require_GET
@parameters()
def head(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The header and the overview of steps as they are now."""
    now = timezone.now()
    found = get_object_or_404(
        Run.objects.select_related("version").defer("context", "payload", "version__source"), id=run_id
    )
    places = _places(found)
    context = {
        **_head(found, places, now),
        **_overview(places, 0),
    }
    return page(request, "runs/detail.html#top", context)


@role_required(Role.VIEWER)
@require_GET
@parameters()
def step(request: HttpRequest, step_id: uuid.UUID) -> HttpResponse:
    """One step's panel: a part for the run page, a page of its own for those who follow the link."""
    return _step_answer(request, get_object_or_404(run_reads.outline(Step.objects.filter(id=step_id))))


@role_required(Role.VIEWER)
@require_GET
@parameters("name")
def step_by_name(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The same by the step's name, which is all that an event of the log knows."""
    steps = run_reads.outline(Step.objects.filter(run_id=run_id, name=request.GET.get("name", "")))
    return _step_answer(request, get_object_or_404(steps))


@role_required(Role.VIEWER)
@require_GET
@parameters("before")
def log(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Earlier lines of the log."""
    found = get_object_or_404(Run.objects.only("id", "pipeline_name", "status"), id=run_id)
    events, older = run_reads.log_of(run_id, before=whole_number(request.GET, "before", default=0) or None)
    context = {"run": found, "events": events, "older_than": events[0].id if older else None}
    template = "runs/detail.html#log_lines" if request.headers.get("HX-Request") else "runs/log.html"
    return page(request, template, context)


def _step_answer(request: HttpRequest, found: Step) -> HttpResponse:
    owner = Run.objects.select_related("version").defer("context", "payload", "version__source").get(id=found.run_id)
    [panel] = panels_of(request, owner, [found.id])
    template = "runs/detail.html#panel" if request.headers.get("HX-Request") else "runs/step.html"
    return page(request, template, {"panel": panel, "run": owner})


def _head(found: Run, places: list[Place], now: dt.datetime) -> dict[str, Any]:
    asked, reruns = open_of(found), reruns_of(found)
    return {
        "now": now,
        "run": found,
        "meaning": ELSEWHERE if found.status == "escalated" and not asked.first else RUN_MEANING[found.status],
        "asked": asked,
        "parent": parent_of(found),
        "reruns": reruns[:RERUNS_SHOWN],
        "more_reruns": len(reruns) > RERUNS_SHOWN,
        "took": took(found, now) or _worked(found, places),
        "can_cancel": found.status not in ENDED,
        "in_flight": found.status in IN_FLIGHT,
        "paused": pauses.in_force().get(found.pipeline_name) if found.status not in ENDED else None,
    }


def _start(request: HttpRequest, count: int) -> int:
    start = whole_number(request.GET, "from", default=0)
    if start > count:
        raise Http404
    return start


def _overview(places: list[Place], start: int) -> dict[str, Any]:
    """The list of steps from ``start`` on; beyond a screenful also how many there are of each status."""
    end = start + OVERVIEW_AT_ONCE
    reached = [place for place in places if place.step]
    counts = Counter(place.status for place in places)
    return {
        "places": places[start:end],
        "places_count": len(places),
        "places_before": max(0, start - OVERVIEW_AT_ONCE) if start else None,
        "places_after": end if end < len(places) else None,
        "counts": counts.most_common() if len(places) > COUNTED_FROM else [],
        "panels_apart": len(reached) > PANELS_AT_ONCE,
        "attention": _attention(reached),
    }


def _worked(found: Run, places: list[Place]) -> str:
    """For a run that waits for a person: from its start to its latest step's end."""
    ends = [place.step.completed_at for place in places if place.step and place.step.completed_at]
    return duration((max(ends) - found.started_at).total_seconds()) if ends and found.started_at else ""


def _places(found: Run) -> list[Place]:
    """The steps of the pipeline in order, as far as they were reached, then those that were not. A group stands for
    its branches.
    """
    steps = list(run_reads.outline(run_reads.steps_of(found.id).filter(branch__isnull=True)))
    grouped = any(step.executor in GROUPS for step in steps)
    branches = branch_reads.counts_of(found.id) if grouped else {}
    reached = {step.name: Place(step.name, step, branches.get(_index_of_group(step), {})) for step in steps}
    planned = [str(definition.get("name")) for definition in definitions(found).values()]
    places = [reached.pop(name, Place(name, None)) for name in planned]
    return places + list(reached.values())


def _index_of_group(step: Step) -> int:
    return step.index if step.executor in GROUPS else -1


def definitions(found: Run) -> dict[str, Mapping[str, Any]]:
    """The steps as the version the run executes defines them, by name; a group under its own."""
    return {str(definition.get("name")): definition for definition in written(found.version.config)}


def panels_of(request: HttpRequest, found: Run, step_ids: list[uuid.UUID]) -> list[Panel]:
    """The Trust panels of these steps of the run, which comes with its version."""
    steps = list(run_reads.with_heads(Step.objects.filter(id__in=step_ids)).order_by("index", "id"))
    signals = list(run_reads.signals_of(step_ids))
    retries = run_reads.retries_of(found.id)
    judged = judged_steps(step_ids, user=request.user)
    config = found.version.config
    branches = {step.name: written_branch(config, step.name) for step in steps if step.branch is not None}
    made = panels(
        steps,
        signals,
        retries,
        {**definitions(found), **branches},
        judged=judged,
        questions=questions_of(step_ids),
        approvals=approvals_of(step_ids),
        children=children_of(steps),
        tables=tables_of(found, steps),
    )
    return [replace(panel, again_url=_again_url(found, panel.step)) for panel in made]


def _again_url(found: Run, step: Step) -> str:
    """Where the run is run again from the step; "" for a branch, and while that cannot be."""
    if found.status not in ENDED or step.branch is not None or found.is_demo:
        return ""
    return f"{reverse('ui-run-again', args=[found.id])}?{urlencode({'from': step.name})}"


def _attention(places: list[Place]) -> Place | None:
    """The step that decided how the run stands, when that is one a reader should see first."""
    return next((place for place in reversed(places) if place.status in {"escalated", "aborted", "failed"}), None)


def _stream(found: Run, events: list[RunEvent]) -> str:
    if found.status in ENDED:
        return ""
    after = events[-1].id if events else 0
    return f"{reverse('ui-run-events', args=[found.id])}?after={after}"


def _pretty(text: str, chars: int) -> str:
    """JSON with indents when all of it is here; its beginning as it is otherwise."""
    if chars > PAYLOAD_HEAD:
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text
