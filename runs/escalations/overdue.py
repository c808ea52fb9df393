"""Deadlines of what people are asked. Silence is never approval: it refuses or aborts, or the run keeps waiting."""

from contextlib import suppress
from datetime import datetime

from django.db import transaction

from runs import events
from runs.escalations import approving, deciding
from runs.escalations.deciding import AlreadyClosed, TooLate
from runs.models import Approval, ApprovalState, Decision, Escalation, EscalationState

BATCH = 500


def settle(*, now: datetime) -> int:
    """Do what each question asks for whose time is over; how many those were."""
    return _escalations(now) + _approvals(now)


def _approvals(now: datetime) -> int:
    due = Approval.objects.filter(state=ApprovalState.OPEN, due_at__lte=now).order_by("due_at")
    found = list(due.values_list("id", flat=True)[:BATCH])
    for approval_id in found:
        with suppress(AlreadyClosed):  # somebody answered at the last moment
            approving.time_out(approval_id, now=now)
    return len(found)


def _escalations(now: datetime) -> int:
    due = Escalation.objects.filter(state=EscalationState.OPEN, due_at__lte=now).order_by("due_at")
    found = list(due.select_related("step")[:BATCH])
    for escalation in found:
        _one(escalation, now)
    return len(found)


def _one(escalation: Escalation, now: datetime) -> None:
    if escalation.on_timeout == "abort":
        # Whoever handed it on meanwhile has given it a later deadline.
        said = deciding.Said("the deadline", "nobody decided in time", now, tier=escalation.tier)
        with suppress(TooLate):  # somebody decided at the last moment
            deciding.abort(escalation.id, said, kind=Decision.Kind.TIMEOUT)
        return
    with transaction.atomic():
        # Due no more, so this is said once; whoever hands it on gives it a new time.
        if not Escalation.objects.filter(id=escalation.id, due_at=escalation.due_at).update(
            due_at=None, overdue_since=escalation.due_at
        ):
            return
        message = f"Nobody has decided on {escalation.step.name} in time; it keeps waiting."
        events.log(
            escalation.run_id, "escalation.overdue", message, now=now, step_name=escalation.step.name, level="warning"
        )
