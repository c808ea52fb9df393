"""Deadlines of escalations. Silence is never approval: it aborts, or it is noted and the run keeps waiting."""

from datetime import datetime

from django.db import transaction

from runs import events
from runs.escalations import deciding
from runs.models import Decision, Escalation, EscalationState

BATCH = 500


def settle(*, now: datetime) -> int:
    """Do what each escalation asks for whose time is over; how many those were."""
    due = Escalation.objects.filter(state=EscalationState.OPEN, due_at__lte=now).order_by("due_at")
    found = list(due.select_related("step")[:BATCH])
    for escalation in found:
        _one(escalation, now)
    return len(found)


def _one(escalation: Escalation, now: datetime) -> None:
    if escalation.on_timeout == "abort":
        said = deciding.Said(by="the deadline", reason="nobody decided in time", now=now)
        try:
            deciding.abort(escalation.id, said, kind=Decision.Kind.TIMEOUT)
        except deciding.AlreadyClosed:
            return  # somebody decided at the last moment
        return
    with transaction.atomic():
        # Due no more, so this is said once; whoever hands it on gives it a new time.
        if not Escalation.objects.filter(id=escalation.id, due_at=escalation.due_at).update(due_at=None):
            return
        message = f"Nobody has decided on {escalation.step.name} in time; it keeps waiting."
        events.log(
            escalation.run_id, "escalation.overdue", message, now=now, step_name=escalation.step.name, level="warning"
        )
