"""What is special about a branch: it is rendered by whoever claims it, and its end may be its group's."""

import uuid
from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from calibration.statements import Statement
from runs import rows
from runs.engine import commit, leases, pauses, plan
from runs.engine.claimed import Claimed
from runs.engine.publish import PATIENCE
from runs.engine.waiting import Ends
from runs.engine.work import Work
from runs.models import Step, StepStatus
from runs.pipelines import definitions, schema, templating


def begin(claimed: Claimed) -> None:
    """Look at ``when``, render, and write that the branch has begun. Raises Ends, LeaseLost and NotOurs."""
    row, definition, now = claimed.row, claimed.definition, timezone.now()
    try:
        # A fan-out's ``when`` is about the whole group, and was looked at when that began.
        when = definition.when if isinstance(definition, schema.Branch) else None
        if when is not None and not templating.evaluate(when, claimed.prepared.context):
            raise Ends(StepStatus.SKIPPED, f"{when} is false")
        warnings = plan.render(claimed.prepared)
    except templating.TemplateError as error:
        raise Ends(StepStatus.FAILED, str(error)) from error
    row.started_at = now
    told = plan.told_of_begin(row, warnings, now=now)
    writes = [leases.fenced(claimed.lease, prompt=row.prompt, started_at=now, wake_at=leases.until(now))]
    commit.step(claimed.state, plan.Plan(), writes, told, now=now)


def left_alone(step_id: uuid.UUID, *, now: datetime) -> bool:
    """Whether the step must not go on as its pipeline is paused: a branch that has not begun, or a step that waits
    for its turn. It stays due. No query unless something is paused.
    """
    if not pauses.in_force():
        return False
    uncalled = Q(started_at=None) | Q(turn_asked_at__isnull=False)
    unbegun = Step.objects.filter(uncalled, id=step_id, leased=False, status=StepStatus.PENDING)
    name = unbegun.values_list("run__pipeline_name", flat=True).first()
    return name is not None and pauses.of(name) is not None and bool(unbegun.update(wake_at=now))


def one_less(row: Step, *, now: datetime) -> Statement:
    """Tell the group that one of its branches has ended; with the last one it becomes due."""
    sql = (
        "UPDATE runs_step SET awaited = awaited - 1,"
        " wake_at = CASE WHEN awaited = 1 THEN %s ELSE wake_at END"
        " WHERE run_id = %s AND name = %s AND awaited > 0"
    )
    group = definitions.group_of(row.name)
    return Statement(sql, rows.bound(Step, wake_at=now + PATIENCE, run_id=row.run_id, name=group))


def join_due(row: Step) -> Work | None:
    """The join of the branch's group, when all its branches have ended."""
    group = Step.objects.filter(run_id=row.run_id, name=definitions.group_of(row.name), awaited=0)
    group_id = group.values_list("id", flat=True).first()
    return None if group_id is None else Work("step", group_id)
