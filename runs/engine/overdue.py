"""Steps that wait for something that does not come in time. What people are asked has its deadlines in its own row."""

import uuid
from datetime import datetime

from runs.engine import joining, nesting
from runs.models import Step
from runs.models.step import UNFINISHED
from runs.pipelines.definitions import GROUPS


def end(step_id: uuid.UUID, *, now: datetime) -> bool:
    """End what a step waits for beyond its time, so that the step can be claimed; False when there is no such thing."""
    row = Step.objects.filter(id=step_id, awaited__gt=0, status__in=UNFINISHED).select_related("run").first()
    if row is None:
        return False
    if row.executor in GROUPS:
        return joining.end_overdue(row, now=now)
    return row.executor == "pipeline" and nesting.end_overdue(row, now=now)
