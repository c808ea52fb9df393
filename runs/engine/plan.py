"""Working out what comes next, before the transaction that writes it: templates are rendered here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from runs import events, executors
from runs.engine import flow, leases
from runs.engine.state import RunState
from runs.models import RunEvent, Signal, Step, StepStatus
from runs.pipelines import context, schema, templating
from runs.storable import storable_reason, storable_text


@dataclass
class Prepared:
    """A step ready to be called: its row, its definition and everything rendered."""

    row: Step
    definition: schema.Step
    context: Mapping[str, Any]
    config: dict[str, Any]
    signals: list[Signal] = field(default_factory=list)
    unsaved: list[Signal] = field(default_factory=list)  # gathered, to be written with the decision
    answer_saved: bool = False


@dataclass
class Plan:
    """Rows to insert, what to log, and either the step to carry on with or the end of the run."""

    rows: list[Step] = field(default_factory=list)
    events: list[RunEvent] = field(default_factory=list)
    begin: Prepared | None = None
    end: flow.End | None = None
    reason: str = ""


def plan_next(state: RunState, *, now: datetime) -> Plan:
    """Skip what its ``when`` rules out, fail what cannot be rendered, and begin the first step that is left.

    ``state`` is brought up to date with the rows of the plan.
    """
    plan = Plan()
    while True:
        following = state.next()
        if isinstance(following, flow.End):
            plan.end = following
            plan.reason = _reason(state, following, plan)
            return plan
        if isinstance(following, flow.Wait):
            return plan
        prepared = _prepare(state, following.index, plan, now)
        plan.rows.append(prepared.row)
        state.remember(prepared.row)
        if prepared.row.status == StepStatus.RUNNING:
            plan.begin = prepared
            return plan


def _prepare(state: RunState, index: int, plan: Plan, now: datetime) -> Prepared:
    definition = state.pipeline.steps[index]
    row = _new_row(state, definition, index, now)
    scope = step_context(state, definition, row)
    prepared = Prepared(row, definition, scope, {})
    try:
        if definition.when is not None and not templating.evaluate(definition.when, scope):
            _end_at_once(row, StepStatus.SKIPPED, "", now)
            _note(
                plan,
                state,
                row,
                kind="step.skipped",
                message=f"{row.name} is skipped: {definition.when} is false.",
                now=now,
            )
            return prepared
        warnings = render(prepared)
    except templating.TemplateError as error:
        _end_at_once(row, StepStatus.FAILED, str(error), now)
        _note(plan, state, row, kind="step.failed", message=f"{row.name} failed: {error}", now=now, level="error")
        return prepared
    _note(plan, state, row, kind="step.started", message=f"{row.name} asks {row.agent or row.executor}.", now=now)
    for warning in warnings:
        _note(plan, state, row, kind="template.warning", message=warning, now=now, level="warning")
    return prepared


def step_context(state: RunState, definition: schema.Step, row: Step) -> dict[str, Any]:
    """The names the step's templates see; with ``loop_until`` also ``loop``: the pass (from 1) and the one before."""
    extra: dict[str, Any] = {}
    if definition.loop_until is not None:
        prior = row.iterations[-1] if row.iterations else None
        extra["loop"] = {
            "iteration": len(row.iterations) + 1,
            "prior_confidence": prior["effective_confidence"] if prior else None,
            "prior_output": prior["parsed_output"] if prior else None,
        }
    return context.prompt_context(
        run=state.run, steps=state.outputs, pipeline=state.pipeline, current_step=definition.name, extra=extra
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


def _new_row(state: RunState, definition: schema.Step, index: int, now: datetime) -> Step:
    executor = executors.get(definition.executor)
    agent = f"{executor.kind}:{executor.agent_name(definition.executor_config)}" if executor.is_agent else ""
    return Step(
        run_id=state.run.id,
        name=definition.name,
        index=index,
        status=StepStatus.RUNNING,
        executor=definition.executor,
        agent=agent,
        prompt_hash=definition.prompt_hash,
        confidence_threshold=definition.confidence_threshold,
        created_at=now,
        started_at=now,
        leased=True,
        lease=1,
        attempts=1,
        wake_at=leases.until(now),
    )


def _end_at_once(row: Step, status: StepStatus, error: str, now: datetime) -> None:
    row.status = status
    row.error = storable_reason(error)
    row.completed_at = now
    row.leased = False
    row.wake_at = None


def _note(
    plan: Plan, state: RunState, row: Step, *, kind: str, message: str, now: datetime, level: str = "info"
) -> None:
    plan.events.append(events.event(state.run.id, kind, message, now=now, step_name=row.name, level=level))


def _reason(state: RunState, end: flow.End, plan: Plan) -> str:
    """Why the run rests, where the plan itself decided it; the gate's own reasons are given by the caller."""
    if end.index is None:
        return ""
    name = state.pipeline.steps[end.index].name
    failed = next((row for row in plan.rows if row.name == name), None)
    return f"{name} failed: {failed.error}" if failed else ""
