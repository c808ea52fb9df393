"""The step to be judged, as its marker sees it: blind, it holds nothing of what the machine thinks of it."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.urls import reverse

from calibration.models import Sample
from runs.marking.blinding import blinded, without_certainty
from runs.models import Run, Step
from runs.views import run_reads, trace_events
from runs.views.step_config import value_text
from runs.views.step_panel import Text
from runs.views.step_signals import claims_of

TRACE_INLINE = 300_000
EVENTS = 40
CLAIMS = 100
FIELD_HEAD = 6_000
_TOOLS = {"tool_call", "tool_result", "tool_denied"}
_FIRST = ("summary", "proceed_reason", "next_step_context", "uncertainties")
_LEFT_OUT = {"confidence", "proceed"}
_LABELS = {
    "summary": "Answered",
    "next_step_context": "Told the next steps",
    "proceed_reason": "Why it stopped here",
    "uncertainties": "What it doubts",
}


@dataclass(frozen=True)
class Claim:
    """``supported`` and ``evidence`` are the judge's; None and "" while the marker is blind."""

    text: str
    supported: bool | None
    evidence: str


@dataclass(frozen=True)
class Field:
    """A part of the answer; ``is_data`` is whether it is JSON rather than prose."""

    label: str
    text: str
    is_data: bool


@dataclass(frozen=True)
class Work:
    step_id: uuid.UUID
    name: str
    pipeline: str
    stage: str
    run_id: uuid.UUID
    run_summary: str
    finished_at: dt.datetime | None
    is_replay: bool
    asked: Text
    asked_cut: bool
    fields: Sequence[Field]
    fields_cut: bool
    answer_url: str
    claims: Sequence[Claim]
    claims_left: int
    tools: Sequence[Mapping[str, Any]]
    tools_left: int
    tools_known: bool
    trace_url: str
    trace_too_large: bool


def steps(step_id: uuid.UUID) -> "QuerySet[Step]":
    """The step with its run and the beginnings of its long texts; its trace while that is not too large to show.

    ``is_replay`` is its sample's, None without one.
    """
    found = run_reads.with_heads(Step.objects.filter(id=step_id)).select_related("run")
    small = run_reads.small_json("agent_trace", TRACE_INLINE)
    return found.defer(*run_reads.HEAVY_STEP, "run__context", "run__payload").annotate(
        small_trace=small, is_replay=Subquery(Sample.objects.filter(pk=OuterRef("pk")).values("is_replay"))
    )


def work_of(step: Any, *, blind: bool) -> Work:
    """What is to be judged (``step`` from ``steps``). Blind, no score, verdict or supported flag gets to the page."""
    run: Run = step.run
    shown, cut = _fields(step.answer, step.answer_summary, blind=blind)
    found = claims_of(step, list(run_reads.signals_of([step.id])))
    tools, left = tool_events(step.small_trace, blind=blind)
    return Work(
        step_id=step.id,
        name=step.name,
        pipeline=run.pipeline_name,
        stage=run.stage,
        run_id=run.id,
        run_summary=run.summary,
        finished_at=step.completed_at,
        is_replay=step.is_replay,
        asked=_asked(step, blind=blind),
        asked_cut=(step.prompt_chars or 0) > len(step.prompt_head or ""),
        fields=shown,
        fields_cut=cut,
        answer_url=reverse("ui-marking-text", args=[step.id, "answered"]),
        claims=_claims(found[:CLAIMS], blind=blind),
        claims_left=max(0, len(found) - CLAIMS),
        tools=tools,
        tools_left=left,
        tools_known=step.agent_trace_events is not None,
        trace_url=reverse("ui-marking-trace", args=[step.id]) if step.agent_trace_events else "",
        trace_too_large=bool(step.agent_trace_events) and step.small_trace is None,
    )


def shown_text(text: str, *, blind: bool) -> str:
    return without_certainty(text) if blind else text


def tool_events(trace: Any, *, blind: bool) -> tuple[list[dict[str, Any]], int]:
    """The tool calls with their results, as far as a page bears them, and how many were left out."""
    events = trace if isinstance(trace, list) else []
    tools = [
        (number, event)
        for number, event in enumerate(events)
        if isinstance(event, dict) and event.get("type") in _TOOLS
    ]
    shown = [trace_events.shown(event, number) for number, event in tools[:EVENTS]]
    return [dict(event, head=shown_text(event["head"], blind=blind)) for event in shown], max(0, len(tools) - EVENTS)


def _asked(step: Any, *, blind: bool) -> Text:
    # A later pass of a loop is told how sure the pass before it was.
    head = shown_text(step.prompt_head or "", blind=blind and bool(step.iteration_count))
    return Text("Asked", head, step.prompt_chars or 0, reverse("ui-marking-text", args=[step.id, "asked"]))


def _fields(answer: Any, summary: str | None, *, blind: bool) -> tuple[list[Field], bool]:
    """What is shown of the answer, and whether any was cut; of one too large the beginning of its summary."""
    if not isinstance(answer, dict):
        return [Field("Answered", shown_text(summary or "", blind=blind), False)], True
    answer = blinded(answer) if blind else answer
    if answer.get("proceed") is False and not answer.get("proceed_reason"):
        answer = {**answer, "proceed_reason": "There is nothing more to do."}
    names = [*_FIRST, *(name for name in answer if name not in _FIRST)]
    given = [(name, answer.get(name)) for name in names if name not in _LEFT_OUT]
    texts = [(name, value, _written(name, value)) for name, value in given if value not in (None, "", [], {})]
    cut = any(len(text) > FIELD_HEAD for _, _, text in texts)
    fields = [
        Field(_LABELS.get(name, name), text[:FIELD_HEAD], not (isinstance(value, str) or name in _FIRST))
        for name, value, text in texts
    ]
    return fields, cut


def _written(name: str, value: Any) -> str:
    if name == "uncertainties" and isinstance(value, list):
        return "\n".join(value_text(item) for item in value)
    return value_text(value)


def _claims(found: Sequence[Mapping[str, Any]], *, blind: bool) -> list[Claim]:
    if not blind:
        return [Claim(_text(one, "claim"), bool(one.get("supported")), _text(one, "evidence")) for one in found]
    # As they come, what nothing backs stands first, which would tell.
    return [Claim(without_certainty(text), None, "") for text in sorted(_text(one, "claim") for one in found)]


def _text(claim: Mapping[str, Any], name: str) -> str:
    return value_text(claim.get(name) or "")
