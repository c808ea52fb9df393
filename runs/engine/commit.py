"""The write transactions of the engine: finishing a step and beginning the next is one of them."""

from collections.abc import Callable, Sequence
from datetime import datetime

from runs import events, rows
from runs.engine import transactions
from runs.engine.plan import Plan
from runs.engine.state import RunState
from runs.models import Run, RunEvent, RunStatus

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
        _apply(state, plan, [begun], now)

    transactions.write(body)


def step(
    state: RunState,
    plan: Plan,
    write_step: Callable[[], None],
    logged: Sequence[RunEvent],
    *,
    now: datetime,
) -> None:
    """Write a step under its lease (``write_step`` raises LeaseLost) together with what follows from it."""

    def body() -> None:
        write_step()
        _apply(state, plan, logged, now)

    transactions.write(body)


def resume(state: RunState, plan: Plan, *, now: datetime) -> None:
    """Give a running run without an unfinished step what comes next. Raises NotOurs when it is not running."""

    def body() -> None:
        # Locks the row: two workers that find the same stuck run must not both go on.
        if not rows.update(Run, {"wake_at": None}, {"id": state.run.id, "status": RunStatus.RUNNING}):
            raise NotOurs
        _apply(state, plan, [], now)

    transactions.write(body)


def _apply(state: RunState, plan: Plan, logged: Sequence[RunEvent], now: datetime) -> None:
    rows.insert(plan.rows)
    told = [*logged, *plan.events]
    if plan.end is not None:
        told.append(_rest(state, plan, now))
    events.write(told)


def _rest(state: RunState, plan: Plan, now: datetime) -> RunEvent:
    assert plan.end is not None
    status = plan.end.status
    ended_at = None if status == "escalated" else now
    rested = rows.update(
        Run,
        {"status": status, "reason": plan.reason, "completed_at": ended_at, "wake_at": None},
        {"id": state.run.id, "status": RunStatus.RUNNING},
    )
    if not rested:
        raise NotOurs
    message = f"{_REST[status]} {plan.reason}".strip()
    level = "info" if status in {"completed", "stopped"} else "warning"
    return events.event(state.run.id, "run.ended", message, now=now, level=level, data={"status": status})
