"""Opening an escalation, in the transaction of whatever escalated the step, and closing those of a run that ended."""

import uuid
from datetime import datetime, timedelta
from typing import Any

from calibration.statements import Statement
from runs import rows
from runs.models import Escalation, EscalationState, Step
from runs.storable import storable_reason


def opening(step: Step, definition: Any, *, reason: str, now: datetime) -> list[Statement]:
    """What opens an escalation of ``step``; ``definition`` says whom it is for and how long they have."""
    wanted = getattr(definition, "escalation", None)  # a parallel group has no such field
    limit = wanted.after_seconds if wanted else None
    escalation = Escalation(
        step_id=step.id,
        run_id=step.run_id,
        reason=storable_reason(reason),
        to=(wanted.to or "") if wanted else "",
        opened_at=now,
        due_at=None if limit is None else now + timedelta(seconds=limit),
        on_timeout=wanted.on_timeout if wanted else "keep",
    )
    return rows.insertion([escalation])


def withdraw(run_id: uuid.UUID, *, now: datetime) -> None:
    """Close what nobody needs to decide any more, since the run has ended."""
    Escalation.objects.filter(run_id=run_id, state=EscalationState.OPEN).update(
        state=EscalationState.WITHDRAWN, closed_at=now, due_at=None
    )
