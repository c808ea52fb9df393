"""Starting the runs whose time has come: called once a second, by as many workers as like to."""

import logging
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from calibration.statements import Statement
from runs import rows
from runs.engine import pauses
from runs.intake import accept
from runs.intake.refusals import BacklogFull
from runs.models import Pipeline, PipelineVersion, Tick
from runs.pipelines import cron
from runs.pipelines.schedule import Schedule, schedule_of

logger = logging.getLogger(__name__)

BATCH = 200  # ticks started at one look


class _MovedOn(Exception):
    """Another scheduler, or a reload, was quicker: the pipeline waits for another tick by now."""


class _HasRun(Exception):
    """The tick has its run already: a reload had set the schedule back to it."""


def run_due(*, now: datetime) -> int:
    """Start a run for each schedule with a tick at or before ``now``; how many this call started.

    Of several missed ticks only the latest runs, in a pause too. What the backlog has no room for is tried again at the
    next look.
    """
    paused = pauses.in_force()
    if pauses.EVERYTHING in paused:
        return 0
    due = Pipeline.objects.filter(present=True, version__isnull=False, next_at__lte=now).select_related("version")
    if paused:
        due = due.exclude(name__in=list(paused))
    started = 0
    for pipeline in due.defer("version__source").order_by("next_at", "file")[:BATCH]:
        try:
            started += _tick(pipeline, now)
        except BacklogFull as error:
            logger.warning("the schedule of %s waits: %s", pipeline.name, error)
            break
        except Exception:
            # One pipeline's trouble must not keep the others from their ticks.
            logger.exception("the schedule of %s cannot start a run; it is tried again", pipeline.name)
    return started


def _tick(pipeline: Pipeline, now: datetime) -> bool:
    assert pipeline.version is not None
    schedule = schedule_of(pipeline.version.config)
    if schedule is None or pipeline.next_at is None or schedule.rhythm != pipeline.rhythm:
        return False  # a reload is under way: its rows are read between two writes
    # The clock tells which ticks were missed; the row holds the first of them, which the latest cannot be before.
    latest = cron.latest_until(schedule.cron, schedule.timezone, now) or pipeline.next_at
    due_at = max(latest, pipeline.next_at)
    following = cron.next_after(schedule.cron, schedule.timezone, now)
    try:
        accept.start_scheduled(
            version=pipeline.version,
            payload=_payload(pipeline.version, schedule, due_at),
            team=schedule.team,
            taking=lambda run_id: [_move_on(pipeline, following), _insertion(pipeline, due_at, run_id)],
            now=now,
        )
    except _MovedOn:
        return False
    except _HasRun:
        Pipeline.objects.filter(file=pipeline.file, next_at=pipeline.next_at).update(next_at=following)
        return False
    return True


def _payload(version: PipelineVersion, schedule: Schedule, due_at: datetime) -> Mapping[str, Any]:
    return {
        "event": accept.SCHEDULE,
        "summary": schedule.summary or f"Scheduled run of {version.name}",
        "severity": schedule.severity,
        "labels": schedule.labels,
        "metadata": {"scheduled_for": due_at.isoformat()},
    }


def _move_on(pipeline: Pipeline, following: datetime | None) -> Statement:
    """Take the tick: whoever comes second finds the row changed."""

    def lost() -> None:
        raise _MovedOn

    where = {"file": pipeline.file, "next_at": pipeline.next_at, "rhythm": pipeline.rhythm, "present": True}
    return rows.change(Pipeline, {"next_at": following}, where, otherwise=lost)


def _insertion(pipeline: Pipeline, due_at: datetime, run_id: uuid.UUID) -> Statement:
    def taken() -> None:
        raise _HasRun

    [insertion] = rows.insertion([Tick(pipeline_name=pipeline.name, due_at=due_at, run_id=run_id)])
    return Statement(f"{insertion.sql} ON CONFLICT DO NOTHING", insertion.values, taken)
