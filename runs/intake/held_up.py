"""Whether a run goes no further until a person has answered."""

import uuid

from runs.models import Approval, ApprovalState, Run, RunStatus, Step
from runs.models.step import UNFINISHED


def questions(run_id: uuid.UUID) -> list[str]:
    """What people are asked, when nothing else is left to do in a run that is under way; empty while there is.

    Runs that its steps wait for are looked at too.
    """
    unfinished = Step.objects.filter(run_id=run_id, status__in=UNFINISHED)
    if unfinished.filter(awaited=0).exists() or not unfinished.exists():
        return []
    asked = [
        f"{approval.name}: {approval.message}"
        for approval in Approval.objects.filter(run_id=run_id, state=ApprovalState.OPEN).order_by("opened_at", "id")
    ]
    for child in Run.objects.filter(parent_step__in=unfinished).only("status", "pipeline_name", "reason"):
        if child.status == RunStatus.ESCALATED:
            asked.append(f"{child.pipeline_name}: {child.reason}")
        elif child.status == RunStatus.RUNNING:
            inner = questions(child.id)
            if not inner:
                return []
            asked += inner
        elif child.status == RunStatus.QUEUED:
            return []
    return asked
