"""What a decision does to the run: it goes on, it ends, or it waits for the other decisions of its group."""

from datetime import datetime

from django.db import IntegrityError, transaction

from calibration.statements import execute
from runs import events, outbox
from runs.engine import parents
from runs.engine.opening import withdraw
from runs.engine.publish import PATIENCE
from runs.engine.work import Work
from runs.models import Escalation, EscalationState, Run, RunStatus, Step, StepStatus
from runs.pipelines import registry
from runs.pipelines.definitions import group_of
from runs.storable import storable_reason


def resume(step: Step, *, now: datetime) -> list[Work]:
    """Carry the run on after ``step`` was let pass; the work to publish. To be called with the run's row locked."""
    if step.branch is None:
        return [Work("run", step.run_id)] if _running(step, wake_at=now + PATIENCE) else []
    group = Step.objects.get(run_id=step.run_id, name=group_of(step.name))
    waiting = Escalation.objects.filter(run_id=step.run_id, step__index=step.index, state=EscalationState.OPEN)
    if group.status != StepStatus.ESCALATED or waiting.exists():
        return []  # its siblings are under way, or wait for a decision of their own
    if not _running(step, wake_at=None):
        return []
    # The join again: now every branch has an end that counts.
    Step.objects.filter(id=group.id).update(status=StepStatus.RUNNING, completed_at=None, wake_at=now + PATIENCE)
    return [Work("step", group.id)]


def abort(step: Step, by: str, reason: str, *, now: datetime) -> None:
    """End the step as aborted, and its run unless siblings of a branch are still under way."""
    Step.objects.filter(id=step.id).update(status=StepStatus.ABORTED)
    told = storable_reason(f"{step.name}: aborted by {by}" + (f": {reason}" if reason else ""))
    ended = Run.objects.filter(id=step.run_id, status=RunStatus.ESCALATED).update(
        status=RunStatus.ABORTED, reason=told, completed_at=now, wake_at=None
    )
    if ended:
        Step.objects.filter(run_id=step.run_id, status=StepStatus.ESCALATED).update(status=StepStatus.ABORTED)
        withdraw(step.run_id, now=now)
        message = f"The run was aborted. {told}"
        events.log(step.run_id, "run.ended", message, now=now, level="warning", data={"status": "aborted"})
        parents.wake(step.run_id, now=now)
        _tell(step, told, now)


def _tell(step: Step, reason: str, now: datetime) -> None:
    """Write what tells of the aborted run."""
    pipeline = registry.parsed(Run.objects.values_list("version_id", flat=True).get(id=step.run_id))
    beside = Step.objects.filter(run_id=step.run_id, index=step.index).values_list("name", "status")
    outputs = {name: {"status": status} for name, status in beside}
    execute(
        outbox.ended(pipeline, "aborted", run_id=step.run_id, index=step.index, outputs=outputs, reason=reason, now=now)
    )


def _running(step: Step, *, wake_at: datetime | None) -> bool:
    """Make the paused run a running one; False when it is not paused."""
    paused = Run.objects.filter(id=step.run_id, status=RunStatus.ESCALATED)
    values = {"status": RunStatus.RUNNING, "reason": "", "wake_at": wake_at}
    try:
        with transaction.atomic():
            return bool(paused.update(**values))
    except IntegrityError:
        # While it waited, an equal alert has started a run of its own, which keeps the key.
        return bool(paused.update(**values, dedup_key=""))
