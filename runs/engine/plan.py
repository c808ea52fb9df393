"""Working out what comes next, before the transaction that writes it: templates are rendered here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from runs import events
from runs.engine import branching, flow, new_rows, pauses
from runs.engine.state import RunState
from runs.engine.work import Work
from runs.models import Pause, RunEvent, Signal, Step, StepStatus
from runs.pipelines import context, schema, templating
from runs.storable import storable_text


@dataclass
class Prepared:
    """A step ready to be called: its row, its definition and everything rendered."""

    row: Step
    definition: schema.StepBody
    context: Mapping[str, Any]
    config: dict[str, Any]
    signals: list[Signal] = field(default_factory=list)
    unsaved: list[Signal] = field(default_factory=list)  # gathered, to be written with the decision
    answer_saved: bool = False


@dataclass
class Plan:
    """Rows to insert, what to log, and either the step or the branches to carry on with or the end of the run."""

    rows: list[Step] = field(default_factory=list)
    events: list[RunEvent] = field(default_factory=list)
    begin: Prepared | None = None
    works: list[Work] = field(default_factory=list)
    end: flow.End | None = None
    reason: str = ""
    paused: Pause | None = None  # why nothing begins, although something would


def plan_next(state: RunState, *, now: datetime) -> Plan:
    """Skip what its ``when`` rules out, fail what cannot be rendered, and begin the first step or group that is left,
    unless the pipeline is paused.

    ``state`` is brought up to date with the rows of the plan.
    """
    plan, paused = Plan(), pauses.of(state.run.pipeline_name)
    while True:
        following = state.next()
        if paused is not None and isinstance(following, flow.Begin):
            plan.paused = paused
            return plan
        if isinstance(following, flow.End):
            plan.end = following
            plan.reason = _reason(state, following, plan)
            return plan
        if isinstance(following, flow.Wait):
            return plan
        entry = state.pipeline.entries[following.index]
        if isinstance(entry, schema.Step):
            _begin_step(state, entry, following.index, plan, now)
        else:
            _begin_group(state, entry, following.index, plan, now)


def _begin_step(state: RunState, definition: schema.Step, index: int, plan: Plan, now: datetime) -> None:
    row = new_rows.claimed_step(state.run, definition, index, now)
    prepared = Prepared(row, definition, step_context(state, definition, row), {})
    plan.rows.append(row)
    try:
        if definition.when is not None and not templating.evaluate(definition.when, prepared.context):
            new_rows.end_at_once(row, StepStatus.SKIPPED, "", now)
            _note(plan, row, "step.skipped", f"{row.name} is skipped: {definition.when} is false.", now=now)
        else:
            plan.events += told_of_begin(row, render(prepared), now=now)
            plan.begin = prepared
    except templating.TemplateError as error:
        new_rows.end_at_once(row, StepStatus.FAILED, str(error), now)
        _note(plan, row, "step.failed", f"{row.name} failed: {error}", now=now, level="error")
    state.remember(row)


def _begin_group(state: RunState, entry: schema.Group, index: int, plan: Plan, now: datetime) -> None:
    scope = context.prompt_context(run=state.run, steps=state.outputs, pipeline=state.pipeline, current_step=entry.name)
    begun = branching.begin(state.run, entry, index, scope, now)
    plan.rows += [begun.group, *begun.branches]
    plan.works += [Work("step", branch.id) for branch in begun.branches]
    level = "error" if begun.group.status == StepStatus.FAILED else "info"
    _note(plan, begun.group, begun.kind, begun.message, now=now, level=level)
    state.remember(begun.group)


def step_context(state: RunState, definition: schema.StepBody, row: Step) -> dict[str, Any]:
    """The names the step's templates see.

    A branch of a fan-out also sees its item. With ``loop_until`` there is ``loop``: the pass (from 1) and
    the one before.
    """
    extra: dict[str, Any] = dict(row.branch_context)
    if definition.loop_until is not None:
        prior = row.iterations[-1] if row.iterations else None
        extra["loop"] = {
            "iteration": len(row.iterations) + 1,
            "prior_confidence": prior["effective_confidence"] if prior else None,
            "prior_output": prior["parsed_output"] if prior else None,
        }
    return context.prompt_context(
        run=state.run, steps=state.outputs, pipeline=state.pipeline, current_step=row.name, extra=extra
    )


def render(prepared: Prepared) -> list[str]:
    """Render prompt and configuration into ``prepared``; the warnings. Raises TemplateError."""
    warnings: list[str] = []
    if prepared.definition.prompt_template is not None:
        rendered = templating.render(prepared.definition.prompt_template, prepared.context)
        prepared.row.prompt = storable_text(rendered.text)
        warnings += rendered.warnings
    return warnings + render_config(prepared)


def render_config(prepared: Prepared) -> list[str]:
    """Render the executor's configuration alone: the prompt of an interrupted step is already in its row."""
    prepared.config, warnings = templating.render_config(prepared.definition.executor_config, prepared.context)
    return warnings


def told_of_begin(row: Step, warnings: Sequence[str], *, now: datetime) -> list[RunEvent]:
    """What the log says when a step begins, with the warnings of its templates."""
    began = events.event(row.run_id, "step.started", f"{row.name} {_begins(row)}.", now=now, step_name=row.name)
    warned = [
        events.event(row.run_id, "template.warning", text, now=now, step_name=row.name, level="warning")
        for text in warnings
    ]
    return [began, *warned]


def _begins(row: Step) -> str:
    """What really begins: most executors ask somebody, some start something, and some only wait."""
    waits = {"human": "waits for a person", "pipeline": "starts its pipeline"}
    return waits.get(row.executor) or f"asks {row.agent or row.executor}"


def _note(plan: Plan, row: Step, kind: str, message: str, *, now: datetime, level: str = "info") -> None:
    plan.events.append(events.event(row.run_id, kind, message, now=now, step_name=row.name, level=level))


def _reason(state: RunState, end: flow.End, plan: Plan) -> str:
    """Why the run rests, where the plan itself decided it; the gate's own reasons are given by the caller."""
    if end.index is None:
        return ""
    name = state.pipeline.entries[end.index].name
    ended = next((row for row in plan.rows if row.name == name), None)
    if ended is None:
        return ""
    return f"{name} failed: {ended.error}" if ended.status == StepStatus.FAILED else f"{name}: {ended.error}"
