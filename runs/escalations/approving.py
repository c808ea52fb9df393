"""Answering what a person is asked: yes or no, once. The step goes on at once, on any worker."""

import uuid
from datetime import datetime

from calibration.statements import execute
from runs import events
from runs.engine import parents, people, transactions
from runs.engine.publish import publish
from runs.engine.work import Work
from runs.escalations.deciding import AlreadyClosed, Said
from runs.models import Approval, ApprovalKind, ApprovalState, Run, Signal, SignalKind, SignalState
from runs.storable import storable_reason, storable_text


def approve(approval_id: uuid.UUID, said: Said) -> None:
    """Let the step pass. Raises AlreadyClosed and Approval.DoesNotExist."""
    _answer(approval_id, said, ApprovalState.APPROVED)


def reject(approval_id: uuid.UUID, said: Said) -> None:
    """Refuse: a human step ends its run as aborted, a human check has failed. Raises AlreadyClosed and DoesNotExist."""
    _answer(approval_id, said, ApprovalState.REJECTED)


def time_out(approval_id: uuid.UUID, *, now: datetime) -> None:
    """Take silence for no. Raises AlreadyClosed and Approval.DoesNotExist."""
    _answer(approval_id, Said(by="", reason="", now=now), ApprovalState.TIMED_OUT)


def _answer(approval_id: uuid.UUID, said: Said, state: ApprovalState) -> None:
    def write() -> Work:
        approval = _locked(approval_id)
        approval.state, approval.closed_at, approval.due_at = state, said.now, None
        approval.closed_by, approval.reason = storable_text(said.by), storable_reason(said.reason)
        approval.save(update_fields=["state", "closed_at", "closed_by", "due_at", "reason"])
        if approval.kind == ApprovalKind.CHECK:
            _signal(approval).save(force_insert=True)
        execute([parents.arrival(approval.step_id, now=said.now)])
        name = approval.step.name
        what = name if approval.kind == ApprovalKind.STEP else f"{approval.name} of {name}"
        message = f"{what}: {people.decided_sentence(approval)}."
        level = "info" if state == ApprovalState.APPROVED else "warning"
        data = {"approval": str(approval.id)}
        events.log(approval.run_id, f"approval.{state}", message, now=said.now, step_name=name, level=level, data=data)
        return Work("step", approval.step_id)

    publish(transactions.write(write))


def _locked(approval_id: uuid.UUID) -> Approval:
    """The open question, its run's row locked. Raises AlreadyClosed."""
    run_id = Approval.objects.values_list("run_id", flat=True).get(id=approval_id)
    Run.objects.select_for_update().get(id=run_id)
    approval = Approval.objects.select_related("step").get(id=approval_id)
    if approval.state != ApprovalState.OPEN:
        raise AlreadyClosed(closed_sentence(approval))
    return approval


def closed_sentence(approval: Approval) -> str:
    """What became of it, for somebody who comes too late."""
    by = f" by {approval.closed_by}" if approval.closed_by else ""
    return f"This was already {ApprovalState(approval.state).label.lower()}{by}."


def _signal(approval: Approval) -> Signal:
    passed = approval.state == ApprovalState.APPROVED
    answered = approval.state != ApprovalState.TIMED_OUT
    sentence = people.decided_sentence(approval)
    return Signal(
        step_id=approval.step_id,
        kind=SignalKind.CHECK,
        position=approval.position,
        name=approval.name,
        state=SignalState.DONE if answered else SignalState.FAILED,
        passed=passed,
        detail={"type": "human", "message": approval.message, "by": approval.closed_by, "reason": approval.reason},
        error="" if passed else sentence,
        started_at=approval.opened_at,
        completed_at=approval.closed_at,
    )
