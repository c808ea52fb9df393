"""How many runs of each status began in each stretch of time, counted in an index whatever the history."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import pairwise
from typing import Any

from django.db import connection

from insights.bars import cut
from insights.measures import Share, success
from insights.periods import Period
from runs.ids import first_at, last_of
from runs.models import Run, RunStatus


@dataclass(frozen=True)
class Outcomes:
    """``counts[n]`` is the number of runs per status between ``edges[n]`` and ``edges[n + 1]``."""

    edges: Sequence[datetime]
    counts: Sequence[dict[str, int]]

    @property
    def total(self) -> dict[str, int]:
        summed: dict[str, int] = {}
        for bar in self.counts:
            for status, n in bar.items():
                summed[status] = summed.get(status, 0) + n
        return summed

    @property
    def runs(self) -> int:
        return sum(self.total.values())

    @property
    def success(self) -> Share:
        return success(self.total)


def outcomes(period: Period, *, now: datetime, zone: tzinfo) -> Outcomes:
    """The runs of the period. Two queries for all time, else one."""
    since = period.since or _oldest(now)
    edges = cut(since, now, zone)
    bounds = [*map(first_at, edges[:-1]), last_of(now)]
    return Outcomes(edges, _count(list(pairwise(bounds))))


def _oldest(now: datetime) -> datetime:
    oldest = Run.objects.order_by("id").values_list("triggered_at", flat=True).first()
    return min(oldest or now, now)


def _count(ranges: Sequence[tuple[uuid.UUID, uuid.UUID]]) -> list[dict[str, int]]:
    """Per range of ids, the number of runs of each status that occurs. Each number is one walk in an index."""
    bars = ", ".join(["(%s, %s, %s)"] * len(ranges))
    statuses = ", ".join(["(%s)"] * len(RunStatus.values))
    sql = f"""
        WITH bar(n, low, high) AS (VALUES {bars}), known(status) AS (VALUES {statuses})
        SELECT bar.n, known.status,
          (SELECT COUNT(*) FROM runs_run r WHERE r.status = known.status AND r.id >= bar.low AND r.id < bar.high)
        FROM bar CROSS JOIN known
    """  # noqa: S608 (placeholders only)
    values: list[Any] = []
    for n, (low, high) in enumerate(ranges):
        values += [n, _stored(low), _stored(high)]
    counts: list[dict[str, int]] = [{} for _ in ranges]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, *RunStatus.values])
        for n, status, count in cursor.fetchall():
            if count:
                counts[n][status] = count
    return counts


def _stored(identity: uuid.UUID) -> Any:
    """An id as this database keeps it."""
    return Run._meta.pk.get_db_prep_value(identity, connection)
