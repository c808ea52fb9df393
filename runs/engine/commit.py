"""The write transactions of the engine: finishing a step and beginning the next is one of them."""

from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import connection

from runs import events, rows
from runs.engine import transactions
from runs.engine.plan import Plan
from runs.engine.state import RunState
from runs.models import Run, RunEvent, RunStatus
from runs.storable import storable_reason

# How each rest of a run is told in its log.
_REST = {
    "completed": "The run completed.",
    "stopped": "The run stopped: its agent saw nothing more to do.",
    "escalated": "The run waits for a person.",
    "aborted": "The run was aborted.",
    "failed": "The run failed.",
}


class NotOurs(Exception):
    """The run is no longer in the state this worker saw (cancelled, or started by another)."""


def start(state: RunState, plan: Plan, *, now: datetime) -> None:
    """Turn a queued run into a running one with its first step. Raises NotOurs when it is not queued any more."""

    def body() -> None:
        started = rows.update(
            Run,
            {"status": RunStatus.RUNNING, "started_at": now, "wake_at": None},
            {"id": state.run.id, "status": RunStatus.QUEUED},
        )
        if not started:
            raise NotOurs
        begun = events.event(state.run.id, "run.started", "A worker took the run.", now=now)
        _append(plan, [begun, *plan.events, *_end(state, plan, now)])

    transactions.write(body)


def step(
    state: RunState,
    plan: Plan,
    write_step: Callable[[], None],
    logged: Sequence[RunEvent],
    *,
    now: datetime,
) -> None:
    """Write a step under its lease (``write_step`` raises LeaseLost) together with what follows from it.

    Raises NotOurs when something would follow and the run is not running any more.
    """

    def body() -> None:
        # The run before its step, as in ``closing``: the two never wait for each other.
        ended = _end_or_hold(state, plan, now)
        write_step()
        _append(plan, [*logged, *plan.events, *ended])

    transactions.write(body)


def resume(state: RunState, plan: Plan, *, now: datetime) -> None:
    """Give a running run without an unfinished step what comes next. Raises NotOurs when it is not running."""

    def body() -> None:
        # Locks the row: two workers that find the same stuck run must not both go on.
        if not rows.update(Run, {"wake_at": None}, {"id": state.run.id, "status": RunStatus.RUNNING}):
            raise NotOurs
        _append(plan, [*plan.events, *_end(state, plan, now)])

    transactions.write(body)


def _end_or_hold(state: RunState, plan: Plan, now: datetime) -> list[RunEvent]:
    if plan.rows and plan.end is None:
        _hold_running(state.run)
    return _end(state, plan, now)


def _hold_running(run: Run) -> None:
    """Keep the run from being ended while its next step is written: whoever ends it could not see that step yet.

    SQLite has one writer at a time, and the lease of the step before tells it that the run was ended.
    """
    if not connection.features.has_select_for_update:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM runs_run WHERE id = %s AND status = 'running' FOR SHARE", [run.id])
        if cursor.fetchone() is None:
            raise NotOurs


def _append(plan: Plan, told: Sequence[RunEvent]) -> None:
    rows.insert(plan.rows)
    events.write(told)


def _end(state: RunState, plan: Plan, now: datetime) -> list[RunEvent]:
    """Bring the run to rest if that is planned; what its log says about it. Raises NotOurs when it is not running."""
    if plan.end is None:
        return []
    status = plan.end.status
    ended_at = None if status == "escalated" else now
    reason = storable_reason(plan.reason)
    rested = rows.update(
        Run,
        {"status": status, "reason": reason, "completed_at": ended_at, "wake_at": None},
        {"id": state.run.id, "status": RunStatus.RUNNING},
    )
    if not rested:
        raise NotOurs
    message = f"{_REST[status]} {reason}".strip()
    level = "info" if status in {"completed", "stopped"} else "warning"
    return [events.event(state.run.id, "run.ended", message, now=now, level=level, data={"status": status})]
