"""The rows of steps that begin: one claimed by whoever begins it, a group, and branches that wait for a worker."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from runs import executors
from runs.engine import leases
from runs.engine.publish import PATIENCE
from runs.models import Run, Step, StepStatus
from runs.pipelines import definitions, schema
from runs.storable import storable, storable_reason


def claimed_step(run: Run, definition: schema.Step, index: int, now: datetime) -> Step:
    """A step that its writer carries on with at once."""
    row = _step(run, definition, index, now)
    row.status = StepStatus.RUNNING
    row.started_at = now
    row.leased, row.lease, row.attempts = True, 1, 1
    row.wake_at = leases.until(now)
    return row


def branch(run: Run, group: schema.Group, *, index: int, place: int, context: Mapping[str, Any], now: datetime) -> Step:
    """A branch that any worker may claim; ``context``: the names that only its templates see."""
    definition = group.steps[place] if isinstance(group, schema.Parallel) else group
    row = _step(run, definition, index, now)
    row.name = f"{group.name}/{place if isinstance(group, schema.FanOut) else definition.name}"
    row.branch = place
    row.branch_context = storable(dict(context))
    row.wake_at = now + PATIENCE
    return row


def group(run: Run, entry: schema.Group, index: int, now: datetime) -> Step:
    """The row that waits for the branches; due only when its time is over."""
    limit = definitions.group_seconds(entry)
    return Step(
        run_id=run.id,
        name=entry.name,
        index=index,
        status=StepStatus.RUNNING,
        executor=definitions.kind_of(entry),
        confidence_threshold=entry.confidence_threshold,
        created_at=now,
        started_at=now,
        wake_at=None if limit is None else now + timedelta(seconds=limit),
    )


def end_at_once(row: Step, status: StepStatus, error: str, now: datetime) -> None:
    """Make it a row that is over before anybody works on it, and so costs nothing."""
    row.status = status
    row.error = storable_reason(error)
    row.completed_at = now
    row.cost_nanos = 0
    row.leased = False
    row.wake_at = None


def _step(run: Run, definition: schema.StepBody, index: int, now: datetime) -> Step:
    executor = executors.get(definition.executor)
    agent = f"{executor.kind}:{executor.agent_name(definition.executor_config)}" if executor.is_agent else ""
    return Step(
        run_id=run.id,
        name=definition.name,
        index=index,
        executor=definition.executor,
        agent=agent,
        prompt_hash=definition.prompt_hash,
        confidence_threshold=definitions.own_threshold(definition),
        created_at=now,
    )
