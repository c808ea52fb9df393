"""What stands on the page of schedules and in the answer of the API: when each runs next, and how it went last."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from runs.models import Pipeline, Tick
from runs.pipelines import cron
from runs.pipelines.schedule import Schedule, schedule_of

SHOWN_TICKS = 3


@dataclass(frozen=True)
class Scheduled:
    """A pipeline with a schedule. ``runs``: False for a testing one that does not ask for it; it has no next ticks."""

    pipeline: str
    stage: str
    schedule: Schedule
    runs: bool
    upcoming: list[datetime]
    last: Tick | None

    @property
    def in_words(self) -> str:
        return cron.in_words(self.schedule.cron)


def schedules(*, now: datetime) -> list[Scheduled]:
    """Every schedule, whatever comes next first and what does not run last. Two queries."""
    found = _read(_runnable(), now)
    return sorted(found, key=lambda one: (not one.upcoming, one.upcoming[:1], one.pipeline))


def schedule_for(name: str, *, now: datetime) -> Scheduled | None:
    """The schedule of one pipeline; None when it has none."""
    return next(iter(_read(_runnable().filter(name=name), now)), None)


def _runnable() -> "QuerySet[Any]":
    """Of each configuration only what is shown here: prompts stay in the database."""
    newest = Tick.objects.filter(pipeline_name=OuterRef("name")).order_by("-due_at").values("id")[:1]
    return Pipeline.objects.filter(present=True, version__isnull=False).values_list(
        "name",
        KeyTextTransform("stage", "version__config"),
        KeyTransform("schedule", "version__config"),
        Subquery(newest),
    )


def _read(rows: "QuerySet[Any]", now: datetime) -> list[Scheduled]:
    scheduled = [row for row in rows if row[2]]
    ids = [row[3] for row in scheduled if row[3]]
    ticks = Tick.objects.filter(id__in=ids).select_related("run").defer("run__context", "run__payload")
    last = {tick.pipeline_name: tick for tick in ticks}
    return [_scheduled(name, stage, given, last.get(name), now) for name, stage, given, _ in scheduled]


def _scheduled(name: str, stage: str, given: Any, last: Tick | None, now: datetime) -> Scheduled:
    schedule = Schedule.model_validate(given)
    runs = schedule_of({"stage": stage, "schedule": given}) is not None
    upcoming = cron.upcoming(schedule.cron, schedule.timezone, now, SHOWN_TICKS) if runs else []
    return Scheduled(name, stage, schedule, runs, upcoming, last)
