"""Ending a run from outside its steps: a person cancels it, or it cannot be carried on at all."""

import uuid
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.db.models import F

from calibration.statements import execute
from runs import events, outbox
from runs.engine import parents, transactions
from runs.engine.losing import lose
from runs.engine.opening import withdraw
from runs.models import Run, RunStatus, Step, StepStatus
from runs.models.run import IN_FLIGHT
from runs.models.step import UNFINISHED
from runs.pipelines import registry
from runs.storable import storable_reason

BATCH = 100  # children ended at one look of the sweeper


def cancel(*, run_id: uuid.UUID, by: str, now: datetime) -> bool:
    """End the run as cancelled by a person; False when it had ended already. The rest is as ``cancel_because`` does."""
    return cancel_because(f"Cancelled by {by}.", run_id=run_id, now=now)


def cancel_because(reason: str, *, run_id: uuid.UUID, now: datetime) -> bool:
    """End the run as cancelled, with the runs its steps started: what waits never starts, what runs is told to stop.

    False when it had ended already.

    A worker in the middle of a step loses its lease here: it can write nothing more, and its
    heartbeat tells the agent to stop.
    """
    return _end(run_id, RunStatus.CANCELLED, StepStatus.ABORTED, kind="run.cancelled", reason=reason, now=now)


def give_up(*, run_id: uuid.UUID, reason: str, now: datetime) -> bool:
    """End the run as failed because carrying it on breaks; False when it had ended already."""
    return _end(run_id, RunStatus.FAILED, StepStatus.FAILED, kind="run.ended", reason=reason, now=now)


def abort_at_hand(reason: str, *, run_id: uuid.UUID, now: datetime) -> bool:
    """End the run as aborted in the transaction at hand, which holds its row; False when it had ended already.

    The runs its steps have started are left to ``end_children``, after the transaction.
    """
    return _close(run_id, RunStatus.ABORTED, StepStatus.ABORTED, kind="run.ended", reason=reason, now=now)


def end_children(run_id: uuid.UUID, *, reason: str, now: datetime) -> None:
    """Cancel the runs that steps of a run have started, when those steps have ended without them."""
    for child_id in parents.orphans().filter(parent_step__run_id=run_id).values_list("id", flat=True):
        cancel_because(reason, run_id=child_id, now=now)


def end_orphans(*, now: datetime) -> None:
    """Cancel runs whose steps have ended without them: whoever ended those went silent before it came to them."""
    for child_id in parents.orphans().values_list("id", flat=True)[:BATCH]:
        cancel_because("The step that started it had ended.", run_id=child_id, now=now)


def end_leftover(*, step_id: uuid.UUID, now: datetime) -> None:
    """End a step whose run has ended without it, so that nobody is sent to it again and its agent is not asked."""
    Step.objects.filter(id=step_id, status__in=UNFINISHED).update(
        status=StepStatus.ABORTED,
        error="The run had ended.",
        completed_at=now,
        leased=False,
        lease=F("lease") + 1,
        wake_at=None,
        turn_asked_at=None,
    )


def _end(run_id: uuid.UUID, *ends: Any, reason: str, now: datetime, **told: Any) -> bool:
    closed = transactions.write(lambda: _close(run_id, *ends, reason=reason, now=now, **told))
    if closed:
        # Each in a transaction of its own: a run's end takes first its own row and then its parent's step.
        end_children(run_id, reason=f"The run it was part of has ended: {reason}", now=now)
    return closed


def _close(
    run_id: uuid.UUID, status: RunStatus, step_status: StepStatus, *, kind: str, reason: str, now: datetime
) -> bool:
    reason = storable_reason(reason)
    closed = Run.objects.filter(id=run_id, status__in=[*IN_FLIGHT, RunStatus.ESCALATED]).update(
        status=status, reason=reason, completed_at=now, wake_at=None
    )
    if not closed:
        return False
    withdraw(run_id, now=now)
    unfinished = Step.objects.filter(run_id=run_id, status__in=UNFINISHED)
    lose(unfinished, run_id)
    if step_status == StepStatus.FAILED:
        _tell_of_failures(run_id, unfinished.only("run_id", "name", "index", "branch"), reason, now)
    unfinished.update(
        status=step_status,
        error=reason,
        completed_at=now,
        leased=False,
        lease=F("lease") + 1,
        wake_at=None,
        turn_asked_at=None,
    )
    events.log(run_id, kind, reason, now=now, level="warning", data={"status": status})
    parents.wake(run_id, now=now)
    return True


def _tell_of_failures(run_id: uuid.UUID, steps: Iterable[Step], reason: str, now: datetime) -> None:
    with suppress(ValueError):  # a version that cannot be read is one reason for giving up: then nobody can be told
        pipeline = registry.parsed(Run.objects.values_list("version_id", flat=True).get(id=run_id))
        for step in steps:
            step.status, step.error = StepStatus.FAILED, reason
            execute(outbox.failed(pipeline, step, now=now))
