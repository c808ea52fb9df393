"""The write transactions of the engine: finishing a step and beginning the next is one of them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Exists

from calibration.statements import Statement, execute
from runs import events, outbox, rows
from runs.engine import parents, pauses, transactions
from runs.engine.plan import Plan
from runs.engine.state import RunState
from runs.models import Run, RunEvent, RunStatus, Step
from runs.models.step import UNFINISHED
from runs.spending import NOTHING, Spent
from runs.storable import storable_reason

NONE_ADDED: Mapping[str, int] = {}
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
    started = rows.change(
        Run,
        {"status": RunStatus.RUNNING, "started_at": now, "wake_at": None},
        {"id": state.run.id, "status": RunStatus.QUEUED},
        otherwise=_not_ours,
    )
    begun = events.event(state.run.id, "run.started", "A worker took the run.", now=now)
    _write(state, plan, [started, *_rest(state, plan, now)], [begun], now)


def step(
    state: RunState,
    plan: Plan,
    writes: Sequence[Statement],
    told: Sequence[RunEvent],
    *,
    spent: Spent = NOTHING,
    now: datetime,
) -> None:
    """Write a step under its lease (the ``writes``, which raise LeaseLost) together with what follows from it.

    ``spent`` is added to the run. Raises NotOurs when something would follow and the run is not running any more.
    """
    # The run before its step, as in ``closing``: the two never wait for each other.
    added = spent.of_run()
    if plan.end is not None:
        held = _rest(state, plan, now, added)
    elif added or plan.paused is not None:
        held = [_while_running(state.run, {} if plan.paused is None else {"wake_at": now}, added)]
    else:
        held = _hold_running(state.run) if plan.rows else []
    _write(state, plan, [*held, *writes], told, now)


def alone(
    state: RunState,
    writes: Sequence[Statement],
    told: Sequence[RunEvent],
    *,
    spent: Spent = NOTHING,
    then: Callable[[], bool] = lambda: False,
) -> bool:
    """Write a step under its lease when nothing follows from it in its run: a branch has ended, or a step waits.

    ``spent`` is added to the run. ``then`` is called in the same transaction, and its answer is returned.
    Raises LeaseLost, and NotOurs when the run is not running any more.
    """
    # The run before its steps here too: cancelling takes them in that order.
    added = spent.of_run()
    held = [_while_running(state.run, {}, added)] if added else _hold_running(state.run)
    statements = [*held, *writes, *rows.insertion(told)]

    def body() -> bool:
        execute(statements)
        return then()

    return transactions.write(body)


def resume(state: RunState, plan: Plan, *, now: datetime) -> None:
    """Give a running run without an unfinished step what comes next. Raises NotOurs when it is not running."""
    # Locks the row: two workers that find the same stuck run must not both go on.
    held = _while_running(state.run, {"wake_at": None})
    _write(state, plan, [held, *_rest(state, plan, now)], [], now)


def leave(run: Run, *, now: datetime) -> None:
    """Leave a run that may not go on now to the sweeper, unless another worker has gone on with it."""
    unfinished = Step.objects.filter(run_id=run.id, status__in=UNFINISHED)
    Run.objects.filter(~Exists(unfinished), id=run.id, status=run.status).update(wake_at=now)


def _write(state: RunState, plan: Plan, first: Sequence[Statement], told: Sequence[RunEvent], now: datetime) -> None:
    log = [*told, *plan.events, *_told_of_rest(state, plan, now), *_told_of_pause(state, plan, now)]
    leaving = [statement for row in plan.rows for statement in outbox.failed(state.pipeline, row, now=now)]
    transactions.write_all([*first, *rows.insertion(plan.rows), *rows.insertion(log), *leaving])


def _not_ours() -> None:
    raise NotOurs


def _while_running(run: Run, values: Mapping[str, Any], added: Mapping[str, int] = NONE_ADDED) -> Statement:
    return rows.change(Run, values, {"id": run.id, "status": RunStatus.RUNNING}, add=added, otherwise=_not_ours)


def _hold_running(run: Run) -> list[Statement]:
    """Keep the run from being ended while its next step is written: whoever ends it could not see that step yet.

    SQLite has one writer at a time, and the lease of the step before tells it that the run was ended.
    """
    if not connection.features.has_select_for_update:
        return []
    sql = "SELECT 1 FROM runs_run WHERE id = %s AND status = 'running' FOR SHARE"
    return [Statement(sql, [run.id], otherwise=_not_ours)]


def _rest(state: RunState, plan: Plan, now: datetime, added: Mapping[str, int] = NONE_ADDED) -> list[Statement]:
    """What brings the run to rest, if that is planned; ``added`` to what it has spent."""
    if plan.end is None:
        return []
    status = plan.end.status
    ended_at = None if status == "escalated" else now
    values = {"status": status, "reason": storable_reason(plan.reason), "completed_at": ended_at, "wake_at": None}
    ended = [
        _while_running(state.run, values, added),
        *outbox.ended(
            state.pipeline,
            status,
            run_id=state.run.id,
            index=plan.end.index,
            outputs=state.outputs,
            reason=plan.reason,
            now=now,
        ),
    ]
    return ended if ended_at is None else [*ended, *parents.waking(state.run.parent_step_id, now=now)]


def _told_of_rest(state: RunState, plan: Plan, now: datetime) -> list[RunEvent]:
    if plan.end is None:
        return []
    status = plan.end.status
    message = f"{_REST[status]} {storable_reason(plan.reason)}".strip()
    level = "info" if status in {"completed", "stopped"} else "warning"
    kind = "run.escalated" if status == "escalated" else "run.ended"
    return [events.event(state.run.id, kind, message, now=now, level=level, data={"status": status})]


def _told_of_pause(state: RunState, plan: Plan, now: datetime) -> list[RunEvent]:
    if plan.paused is None:
        return []
    message = f"Nothing new begins: {pauses.sentence(plan.paused)}."
    return [events.event(state.run.id, "run.paused", message, now=now, level="warning")]
