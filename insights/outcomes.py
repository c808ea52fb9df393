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


# SQLite: each number is one walk in the index by status, the only thing that is read.
_BY_INDEX = """
    WITH bar(n, low, high) AS (VALUES {bars}), known(status) AS (VALUES {statuses})
    SELECT bar.n, known.status,
      (SELECT COUNT(*) FROM runs_run r WHERE r.status = known.status AND r.id >= bar.low AND r.id < bar.high)
    FROM bar CROSS JOIN known
"""
# PostgreSQL takes the primary key for that, and reads every run once for each status: it does so once for all.
_BY_TIME = """
    WITH bar(n, low, high) AS (VALUES {bars})
    SELECT bar.n, r.status, COUNT(*) FROM bar JOIN runs_run r ON r.id >= bar.low AND r.id < bar.high
    GROUP BY bar.n, r.status
"""


def _count(ranges: Sequence[tuple[uuid.UUID, uuid.UUID]]) -> list[dict[str, int]]:
    """Per range of ids, the number of runs of each status that occurs."""
    on_sqlite = connection.vendor == "sqlite"
    values: list[Any] = []
    for n, (low, high) in enumerate(ranges):
        values += [n, _stored(low), _stored(high)]
    sql = (_BY_INDEX if on_sqlite else _BY_TIME).format(
        bars=", ".join(["(%s, %s, %s)"] * len(ranges)), statuses=", ".join(["(%s)"] * len(RunStatus.values))
    )
    counts: list[dict[str, int]] = [{} for _ in ranges]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, *(RunStatus.values if on_sqlite else [])])
        for n, status, count in cursor.fetchall():
            if count:
                counts[n][status] = count
    return counts


def _stored(identity: uuid.UUID) -> Any:
    """An id as this database keeps it."""
    return Run._meta.pk.get_db_prep_value(identity, connection)
