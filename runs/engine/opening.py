"""Opening an escalation in the transaction of whatever escalated the step, and closing those nobody needs any more."""

import uuid
from datetime import datetime, timedelta
from typing import Any

from calibration.statements import Statement, execute
from runs import outbox, rows
from runs.models import Approval, Escalation, EscalationState, Step
from runs.pipelines import schema
from runs.storable import storable_reason


class DecidedMeanwhile(Exception):
    """What a person was to be asked has been decided since it was read."""


def opening(pipeline: schema.Pipeline, step: Step, definition: Any, *, reason: str, now: datetime) -> list[Statement]:
    """What opens an escalation of ``step`` and tells people; ``definition`` says whom it is for and for how long."""
    wanted, limit = _wanted(definition), seconds_of(definition)
    escalation = Escalation(
        step_id=step.id,
        run_id=step.run_id,
        reason=storable_reason(reason),
        to=(wanted.to or "") if wanted else "",
        opened_at=now,
        due_at=None if limit is None else now + timedelta(seconds=limit),
        on_timeout=wanted.on_timeout if wanted else "keep",
    )
    told = outbox.escalated(pipeline, run_id=step.run_id, step_name=step.name, reason=reason, now=now)
    return [*rows.insertion([escalation]), *told]


def seconds_of(definition: Any) -> float | None:
    """How long each tier has to decide; None without a limit."""
    wanted = _wanted(definition)
    return wanted.after_seconds if wanted else None


def _wanted(definition: Any) -> Any:
    return getattr(definition, "escalation", None)  # a parallel group has no such field


def still_open(run_id: uuid.UUID) -> Statement:
    """Make sure that somebody is still asked about the run, whose row is locked. Raises DecidedMeanwhile.

    A run that paused for a decision made a moment before would wait for ever.
    """

    def decided() -> None:
        raise DecidedMeanwhile

    waiting = {"run_id": run_id, "state": EscalationState.OPEN}
    return rows.change(Escalation, {"state": EscalationState.OPEN}, waiting, otherwise=decided)


def withdrawals(run_id: uuid.UUID, *, now: datetime) -> list[Statement]:
    """Close what nobody needs to decide any more, since the run or the group it was about has ended."""
    closed = {"state": EscalationState.WITHDRAWN, "closed_at": now, "due_at": None}
    return [rows.change(asked, closed, {"run_id": run_id, "state": "open"}) for asked in (Escalation, Approval)]


def withdraw(run_id: uuid.UUID, *, now: datetime) -> None:
    """``withdrawals`` at once, in the transaction at hand."""
    execute(withdrawals(run_id, now=now))
