"""Cancelling a run: what waits never starts, what runs is told to stop."""

import uuid
from datetime import datetime

from django.db.models import F

from runs import events
from runs.engine import transactions
from runs.models import Run, Step
from runs.models.run import IN_FLIGHT, RunStatus
from runs.models.step import UNFINISHED, StepStatus


def cancel(*, run_id: uuid.UUID, by: str, now: datetime) -> bool:
    """End the run as cancelled; False when it had ended already.

    A worker in the middle of a step loses its lease here: it can write nothing more, and its
    heartbeat tells the agent to stop.
    """
    return transactions.write(lambda: _cancel(run_id, by, now))


def _cancel(run_id: uuid.UUID, by: str, now: datetime) -> bool:
    reason = f"Cancelled by {by}."
    cancelled = Run.objects.filter(id=run_id, status__in=[*IN_FLIGHT, RunStatus.ESCALATED]).update(
        status=RunStatus.CANCELLED, reason=reason, completed_at=now, wake_at=None
    )
    if not cancelled:
        return False
    Step.objects.filter(run_id=run_id, status__in=UNFINISHED).update(
        status=StepStatus.ABORTED,
        error=reason,
        completed_at=now,
        leased=False,
        lease=F("lease") + 1,
        wake_at=None,
    )
    events.log(run_id, "run.cancelled", reason, now=now, level="warning")
    return True
