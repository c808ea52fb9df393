"""What ties a run to the step that started it: the step waits for the run's end, and the run ends with its step."""

import uuid
from datetime import datetime

from django.db.models import QuerySet

from calibration.statements import Statement, execute
from runs import rows
from runs.engine.publish import PATIENCE, publish
from runs.engine.work import Work
from runs.models import Run, RunStatus, Step
from runs.models.run import IN_FLIGHT
from runs.models.step import UNFINISHED


def waking(parent_step_id: uuid.UUID | None, *, now: datetime) -> list[Statement]:
    """What makes the step due that waited for a run, to be written in the transaction that ends the run.

    Nothing for a run that no step started; no row when that step has ended for another reason.
    """
    if parent_step_id is None:
        return []
    return [arrival(parent_step_id, now=now)]


def arrival(step_id: uuid.UUID, *, now: datetime) -> Statement:
    """One thing less that a step waits for; with the last one it becomes due."""
    sql = (
        "UPDATE runs_step SET awaited = awaited - 1, wake_at = CASE WHEN awaited = 1 THEN %s ELSE wake_at END"
        " WHERE id = %s AND awaited > 0 AND status IN ('pending', 'running', 'judging')"
    )
    return Statement(sql, rows.bound(Step, wake_at=now + PATIENCE, id=step_id))


def woken(parent_step_id: uuid.UUID | None) -> list[Work]:
    """What is due after ``waking``."""
    return [] if parent_step_id is None else [Work("step", parent_step_id)]


def wake(run_id: uuid.UUID, *, now: datetime) -> None:
    """Make the step due that waited for a run, in the transaction at hand, which ends the run."""
    parent_step_id = Run.objects.values_list("parent_step_id", flat=True).get(id=run_id)
    execute(waking(parent_step_id, now=now))
    publish(*woken(parent_step_id))


def orphans() -> QuerySet[Run]:
    """Runs under way that no step waits for any more, although one started them."""
    return Run.objects.filter(parent_step__isnull=False, status__in=[*IN_FLIGHT, RunStatus.ESCALATED]).exclude(
        parent_step__status__in=UNFINISHED
    )
