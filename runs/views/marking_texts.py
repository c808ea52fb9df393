"""The long texts of a step to be marked, by parts, without the scores while its marker is blind."""

import uuid
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from calibration.models import Mark
from runs.access.roles import role_required
from runs.marking.blinding import blinded
from runs.models import Role, Step
from runs.views import trace_events
from runs.views.marking_query import PARAMETERS, Asked, asked
from runs.views.marking_sight import is_blind
from runs.views.marking_work import shown_text
from runs.views.page import page
from runs.views.query import parameters, whole_number
from runs.views.step_config import value_text

PART = 50_000
EVENTS = 50
TITLES = {"asked": "What the agent was asked", "answered": "What the agent answered", "event": "One event of the trace"}


@role_required(Role.MARKER)
@never_cache
@require_GET
@parameters(*PARAMETERS, "from", "event")
@asked
def text(request: HttpRequest, step_id: uuid.UUID, part: str, *, asked: Asked) -> HttpResponse:
    if part not in TITLES:
        raise Http404
    step = _step(step_id)
    whole = _whole(request, step, part, blind=_blind(request, asked, step_id))
    start = whole_number(request.GET, "from", default=0)
    if start and start >= len(whole):
        raise Http404
    chunk = whole[start : start + PART]
    end = start + len(chunk)
    context = {
        "step": step,
        "asked": asked,
        "back": asked.address("ui-marking-step", step_id, marked=asked.marked),
        "title": TITLES[part],
        "chunk": chunk,
        "chars": len(whole),
        "start": start,
        "end": end,
        "next": end if end < len(whole) else None,
        "previous": max(0, start - PART) if start else None,
        "event": whole_number(request.GET, "event", default=0) if part == "event" else None,
    }
    return page(request, "marking/text.html", context)


@role_required(Role.MARKER)
@never_cache
@require_GET
@parameters(*PARAMETERS, "from")
@asked
def trace(request: HttpRequest, step_id: uuid.UUID, *, asked: Asked) -> HttpResponse:
    """Everything the agent did, a screenful of events at a time."""
    step, start, blind = _step(step_id), whole_number(request.GET, "from", default=0), _blind(request, asked, step_id)
    events = _events(step)
    shown = [
        dict(event, head=shown_text(event["head"], blind=blind))
        for event in (trace_events.shown(event, start + n) for n, event in enumerate(events[start : start + EVENTS]))
    ]
    left = max(0, len(events) - start - EVENTS)
    context = {
        "step": step,
        "asked": asked,
        "back": asked.address("ui-marking-step", step_id, marked=asked.marked),
        "trace": shown,
        "count": len(events),
        "next": start + EVENTS if left else None,
        "previous": max(0, start - EVENTS) if start else None,
    }
    return page(request, "marking/trace.html", context)


def _step(step_id: uuid.UUID) -> Step:
    fields = ("id", "name", "prompt", "parsed_output", "agent_trace", "iterations", "run__pipeline_name")
    return get_object_or_404(Step.objects.select_related("run").only(*fields), id=step_id)


def _blind(request: HttpRequest, asked: Asked, step_id: uuid.UUID) -> bool:
    return is_blind(request, asked.by, step_id, list(Mark.objects.filter(sample_id=step_id, by=asked.by)))


def _whole(request: HttpRequest, step: Step, part: str, *, blind: bool) -> str:
    if part == "asked":
        return shown_text(step.prompt, blind=blind and bool(step.iterations))
    if part == "answered":
        return value_text(blinded(step.parsed_output) if blind else step.parsed_output)
    events, number = _events(step), whole_number(request.GET, "event", default=0)
    if number >= len(events):
        raise Http404
    return shown_text(value_text(events[number]), blind=blind)


def _events(step: Step) -> list[Any]:
    return step.agent_trace if isinstance(step.agent_trace, list) else []
