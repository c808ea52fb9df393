"""A step whose executor is another pipeline: it starts a run of it and waits, holding no worker, for that run's end."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from runs import events, rows
from runs.engine import closing, waiting
from runs.engine.leases import Lease
from runs.engine.plan import Prepared
from runs.engine.primary import Failed
from runs.engine.publish import PATIENCE
from runs.engine.state import RunState, load
from runs.engine.work import Work
from runs.models import Run, RunEvent, RunStatus, Step, StepStatus
from runs.models.run import ENDED
from runs.pipelines import definitions, registry
from runs.pipelines.closest import did_you_mean
from runs.storable import storable, storable_text

# Of the last answer: what was meant for the run that is over, not for the one that goes on.
_NOT_HANDED_UP = frozenset({"proceed", "proceed_reason", "confidence", "status", "trust"})


def ask(state: RunState, prepared: Prepared, lease: Lease) -> None:
    """Start the run, or fill the step's row from the one that has ended.

    Raises waiting.LetGo once it is started, waiting.Ends when a person aborted it, Failed when it came to no good end,
    LeaseLost and NotOurs.
    """
    row = prepared.row
    started = Run.objects.filter(parent_step_id=row.id).order_by("id")
    if len(started) < row.tries:
        _start(state, prepared, lease)
    _take(prepared, started[row.tries - 1])


def _start(state: RunState, prepared: Prepared, lease: Lease) -> None:
    row, now = prepared.row, timezone.now()
    child = _child(state.run, prepared, now)
    limit = prepared.definition.timeout_seconds
    due_at = None if limit is None else now + timedelta(seconds=limit)
    told: list[RunEvent] = [
        events.event(
            state.run.id,
            "step.waiting",
            f"{row.name} waits for a run of {child.pipeline_name}.",
            now=now,
            step_name=row.name,
            data={"run": str(child.id)},
        ),
        events.event(child.id, "run.queued", f"Started by {row.name} of {state.run.pipeline_name}.", now=now),
    ]
    waiting.let_go(state, lease, awaited=1, also=rows.insertion([child]), told=told, due_at=due_at)
    raise waiting.LetGo(Work("run", child.id))


def _child(parent: Run, prepared: Prepared, now: datetime) -> Run:
    """The run to be started; the payload's context with the step's overrides. Raises Failed."""
    name = str(prepared.config["pipeline"])
    chain = _chain(parent)
    if name in chain:
        raise Failed(f"{' -> '.join([*chain, name])}: a pipeline cannot be part of itself", retryable=False)
    version = registry.current(name)
    if version is None:
        raise Failed(f"there is no pipeline {name!r}{did_you_mean(name, registry.names())}", retryable=False)
    overrides: Mapping[str, Any] = prepared.config.get("context") or {}
    context = storable({**parent.context, **overrides})
    return Run(
        pipeline_name=name,
        version=version,
        stage=parent.stage,
        team=parent.team,
        source="pipeline",
        started_by=parent.started_by,
        context=context,
        payload=context,
        summary=storable_text(str(context.get("summary") or "")),
        triggered_at=now,
        wake_at=now + PATIENCE,
        parent_step_id=prepared.row.id,
    )


def _chain(run: Run) -> list[str]:
    """The pipelines this run is part of, the outermost first, its own last. One small query for each."""
    names = [run.pipeline_name]
    above = run.parent_step_id
    while above is not None:
        name, above = Run.objects.values_list("pipeline_name", "parent_step_id").get(steps__id=above)
        names.insert(0, name)
    return names


def _take(prepared: Prepared, child: Run) -> None:
    assert child.status in ENDED, f"{child.id} is {child.status}"
    row = prepared.row
    row.parsed_output = {
        **_answer(child),
        "run_id": str(child.id),
        "pipeline": child.pipeline_name,
        "run_status": child.status,
        "reason": child.reason,
    }
    if child.completed_at is not None:
        row.duration_ms = round((child.completed_at - child.triggered_at).total_seconds() * 1000)
    reason = f"its run of {child.pipeline_name} {child.status}" + (f": {child.reason}" if child.reason else "")
    if child.status == RunStatus.ABORTED:
        raise waiting.Ends(StepStatus.ABORTED, reason)
    if child.status not in {RunStatus.COMPLETED, RunStatus.STOPPED}:
        raise Failed(reason, retryable=child.status == RunStatus.FAILED)


def _answer(child: Run) -> dict[str, Any]:
    """The answer of the last step that gave one, which is what a pipeline answers; a group's under ``branches``."""
    state = load(child.id)
    assert state is not None
    for entry in reversed(state.pipeline.entries):
        if state.statuses.get(entry.name) not in {None, StepStatus.SKIPPED}:
            output = state.outputs.get(entry.name)
            if isinstance(output, list):
                return {"branches": output}
            return {name: value for name, value in (output or {}).items() if name not in _NOT_HANDED_UP}
    return {}


def end_overdue(row: Step, *, now: datetime) -> bool:
    """End the run that the step has waited for too long, which makes the step due; False when it is not late."""
    pipeline = registry.parsed(row.run.version_id)
    limit = definitions.definition_of(pipeline, index=row.index, branch=row.branch).timeout_seconds
    child = Run.objects.filter(parent_step_id=row.id).order_by("-id").first()
    if limit is None or child is None or now < child.triggered_at + timedelta(seconds=limit):
        return False
    reason = f"Not finished within the {limit:g} seconds of {row.name}."
    return closing.cancel_because(reason, run_id=child.id, now=now)
