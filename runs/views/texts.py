"""Long texts by parts: prompts, answers, traces. One part is never more than a page can bear."""

import uuid
from typing import Any

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from runs.access.roles import role_required
from runs.models import Role, Signal, Step
from runs.views import trace_events
from runs.views.page import page
from runs.views.query import parameters, whole_number
from runs.views.run_reads import part_of_text
from runs.views.step_config import value_text

PART = 50_000
EVENTS = 50
STEP_PARTS = {
    "prompt": "What the agent was asked",
    "raw_output": "What the agent answered",
    "parsed_output": "The answer as it was understood",
    "revised_output": "The answer as a person put it right",
    "iterations": "Every pass of the loop",
    "agent_trace": "The trace as it was recorded",
}
SIGNAL_PARTS = {
    "prompt": "What was asked",
    "raw_output": "What was answered",
    "detail": "What was found",
}
_JSON = {"parsed_output", "revised_output", "iterations", "agent_trace", "detail"}


@role_required(Role.VIEWER)
@require_GET
@parameters("from")
def step_text(request: HttpRequest, step_id: uuid.UUID, part: str) -> HttpResponse:
    step = get_object_or_404(
        Step.objects.only("id", "name", "run_id", "run__pipeline_name").select_related("run"), id=step_id
    )
    return _text(request, Step.objects.filter(id=step_id), part, STEP_PARTS, step=step)


@role_required(Role.VIEWER)
@require_GET
@parameters("from")
def signal_text(request: HttpRequest, signal_id: uuid.UUID, part: str) -> HttpResponse:
    signal = get_object_or_404(
        Signal.objects.only(
            "id", "kind", "name", "step__name", "step__run_id", "step__run__pipeline_name"
        ).select_related("step__run"),
        id=signal_id,
    )
    return _text(request, Signal.objects.filter(id=signal_id), part, SIGNAL_PARTS, step=signal.step, signal=signal)


def _text(
    request: HttpRequest,
    rows: "QuerySet[Any]",
    part: str,
    parts: dict[str, str],
    *,
    step: Step,
    signal: Signal | None = None,
) -> HttpResponse:
    if part not in parts:
        raise Http404
    start = whole_number(request.GET, "from", default=0)
    field = part
    if part in _JSON:
        rows, field = rows.annotate(as_text=Cast(part, TextField())), "as_text"
    found = part_of_text(rows, field, start, PART)
    if found is None or (start and start >= (found["chars"] or 0)):
        raise Http404
    chunk, chars = found["chunk"] or "", found["chars"] or 0
    end = start + len(chunk)
    context = {
        "step": step,
        "signal": signal,
        "title": parts[part],
        "chunk": chunk,
        "chars": chars,
        "start": start,
        "end": end,
        "next": end if end < chars else None,
        "previous": max(0, start - PART) if start else None,
    }
    return page(request, "runs/text.html", context)


@role_required(Role.VIEWER)
@require_GET
@parameters("from", "event")
def trace(request: HttpRequest, step_id: uuid.UUID) -> HttpResponse:
    """What the agent did, event by event: every tool call with its input and result, clipped with its true size."""
    step = get_object_or_404(
        Step.objects.only("id", "name", "run_id", "agent_trace", "run__pipeline_name").select_related("run"), id=step_id
    )
    events = step.agent_trace if isinstance(step.agent_trace, list) else []
    start = whole_number(request.GET, "from", default=0)
    if "event" in request.GET:
        return _one_event(request, step, events, whole_number(request.GET, "event"))
    shown = [trace_events.shown(event, number) for number, event in enumerate(events[start : start + EVENTS], start)]
    left = max(0, len(events) - start - EVENTS)
    context = {
        "step": step,
        "trace": shown,
        "next": start + EVENTS if left else None,
        "left": left,
        "count": len(events),
    }
    template = "runs/trace.html#events" if request.headers.get("HX-Request") else "runs/trace.html"
    return page(request, template, context)


def _one_event(request: HttpRequest, step: Step, events: list[Any], number: int) -> HttpResponse:
    if number >= len(events):
        raise Http404
    whole, start = value_text(events[number]), whole_number(request.GET, "from", default=0)
    chunk = whole[start : start + PART]
    end = start + len(chunk)
    context = {
        "step": step,
        "signal": None,
        "title": f"Event {number + 1} of the trace",
        "chunk": chunk,
        "chars": len(whole),
        "start": start,
        "end": end,
        "next": end if end < len(whole) else None,
        "previous": max(0, start - PART) if start else None,
        "keep": f"event={number}&",
    }
    return page(request, "runs/text.html", context)
