"""Ending a run from outside its steps: a person cancels it, or it cannot be carried on at all."""

import uuid
from datetime import datetime

from django.db.models import F

from runs import events
from runs.engine import transactions
from runs.engine.opening import withdraw
from runs.models import Run, RunStatus, Step, StepStatus
from runs.models.run import IN_FLIGHT
from runs.models.step import UNFINISHED
from runs.storable import storable_reason


def cancel(*, run_id: uuid.UUID, by: str, now: datetime) -> bool:
    """End the run as cancelled: what waits never starts, what runs is told to stop. False when it had ended already.

    A worker in the middle of a step loses its lease here: it can write nothing more, and its
    heartbeat tells the agent to stop.
    """
    reason = f"Cancelled by {by}."
    ends = (RunStatus.CANCELLED, StepStatus.ABORTED)
    return transactions.write(lambda: _close(run_id, *ends, kind="run.cancelled", reason=reason, now=now))


def give_up(*, run_id: uuid.UUID, reason: str, now: datetime) -> bool:
    """End the run as failed because carrying it on breaks; False when it had ended already."""
    ends = (RunStatus.FAILED, StepStatus.FAILED)
    return transactions.write(lambda: _close(run_id, *ends, kind="run.ended", reason=reason, now=now))


def end_leftover(*, step_id: uuid.UUID, now: datetime) -> None:
    """End a step whose run has ended without it, so that nobody is sent to it again and its agent is not asked."""
    Step.objects.filter(id=step_id, status__in=UNFINISHED).update(
        status=StepStatus.ABORTED,
        error="The run had ended.",
        completed_at=now,
        leased=False,
        lease=F("lease") + 1,
        wake_at=None,
    )


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
    Step.objects.filter(run_id=run_id, status__in=UNFINISHED).update(
        status=step_status, error=reason, completed_at=now, leased=False, lease=F("lease") + 1, wake_at=None
    )
    events.log(run_id, kind, reason, now=now, level="warning", data={"status": status})
    return True
