"""What waits in the marking queue, by pipeline and step, and the numbers above the list."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.utils.dateparse import parse_datetime

from calibration.models import LabelSource, Sample
from runs.marking import counting
from runs.marking.counting import Count
from runs.marking.filters import QueueFilters
from runs.marking.holds import for_person
from runs.marking.names import distinct
from runs.models import QueueItem

PAGE = 20
GROUP_CAP = 1_000
# Under a filter that has no index by step, the steps are counted among this many of the oldest that match.
WINDOW = 10_000
CARD_CAP = 10_000
COVERAGE_OF = 1_000

Key = tuple[str, str]  # pipeline, step
Row = tuple[str, str, str, int, dt.datetime]  # pipeline, step, its branch or itself, how many wait, since when


@dataclass(frozen=True)
class Branch:
    """``name`` is the step's own, such as ``group/branch``."""

    name: str
    waiting: Count


@dataclass(frozen=True)
class Group:
    """A step of a pipeline; ``branches`` is empty for a step without any."""

    pipeline: str
    step: str
    waiting: Count
    oldest_at: dt.datetime
    branches: list[Branch]


@dataclass(frozen=True)
class Groups:
    """One page in order of pipeline and step. ``after`` is the key of the next page, None on the last."""

    rows: list[Group]
    after: Key | None


@dataclass(frozen=True)
class Cards:
    """How much waits, and the share of the newest ``coverage_of`` finished steps that a person has marked.

    ``coverage`` is None while no step with a confidence has finished.
    """

    pipelines: int
    runs: Count
    steps: Count
    coverage: float | None
    coverage_of: int


def groups(filters: QueueFilters, *, by: User, now: dt.datetime, after: Key | None = None) -> Groups:
    """A page of what waits for ``by`` under the filters, branches under their group, with the names after ``after``."""
    is_by_name = not (filters.agent or filters.team or filters.stage or filters.label or filters.age)
    return _by_name(filters, by, after) if is_by_name else _among_oldest(filters, by, now, after)


def cards() -> Cards:
    """Of the whole queue, without filters."""
    waiting = QueueItem.objects.order_by()
    sources = Sample.objects.filter(is_replay=False).order_by("-id").values_list("label_source", flat=True)
    newest = list(sources[:COVERAGE_OF])
    marked = newest.count(LabelSource.STEP_MARK)
    return Cards(
        pipelines=len(distinct(QueueItem, "pipeline")),
        runs=counting.upto(waiting.values("run_id").distinct(), CARD_CAP),
        steps=counting.upto(waiting, CARD_CAP),
        coverage=marked / len(newest) if newest else None,
        coverage_of=len(newest),
    )


_ITEM = f'"{QueueItem._meta.db_table}"'
# Each pipeline, then each step of it, found by one step into the index: the cost grows with the names alone.
_KEYS = f"""
    WITH RECURSIVE pipelines(name) AS (
        SELECT MIN(pipeline) FROM {_ITEM}
        UNION ALL
        SELECT (SELECT MIN(pipeline) FROM {_ITEM} WHERE pipeline > pipelines.name)
        FROM pipelines WHERE pipelines.name IS NOT NULL
    ), keys(pipeline, step) AS (
        SELECT name, (SELECT MIN("group") FROM {_ITEM} WHERE pipeline = pipelines.name)
        FROM pipelines WHERE name IS NOT NULL AND (%s = '' OR name = %s)
        UNION ALL
        SELECT pipeline,
            (SELECT MIN(item."group") FROM {_ITEM} AS item
             WHERE item.pipeline = keys.pipeline AND item."group" > keys.step)
        FROM keys WHERE step IS NOT NULL
    )
    SELECT pipeline, step FROM keys
    WHERE step IS NOT NULL AND (%s = '' OR step = %s) AND (pipeline > %s OR (pipeline = %s AND step > %s))
    ORDER BY pipeline, step LIMIT %s
"""  # noqa: S608 (our own table)
_COUNTED = f"""
    SELECT * FROM (
        SELECT pipeline, "group", name, finished_at FROM {_ITEM}
        WHERE pipeline = %s AND "group" = %s AND (first_marker_id IS NULL OR first_marker_id <> %s)
        ORDER BY finished_at, step_id LIMIT {GROUP_CAP + 1}
    ) AS counted
"""  # noqa: S608
_SUMMED = """
    SELECT pipeline, "group", name, COUNT(*), MIN(finished_at) FROM ({}) AS waiting
    GROUP BY pipeline, "group", name ORDER BY pipeline, "group", name
"""


def _by_name(filters: QueueFilters, by: User, after: Key | None) -> Groups:
    pipeline, step = after or ("", "")
    same = [filters.pipeline] * 2 + [filters.step] * 2
    keys = _rows(_KEYS, [*same, pipeline, pipeline, step, PAGE + 1])
    if not keys:
        return Groups([], None)
    shown = keys[:PAGE]
    sql = _SUMMED.format(" UNION ALL ".join([_COUNTED] * len(shown)))
    rows = _rows(sql, [value for key in shown for value in (*key, by.pk)])
    return Groups(_grouped(rows), shown[-1] if len(keys) > PAGE else None)


def _among_oldest(filters: QueueFilters, by: User, now: dt.datetime, after: Key | None) -> Groups:
    matching = filters.apply(QueueItem.objects.filter(for_person(by)), now=now)
    window = matching.order_by("finished_at", "step_id").values_list("pipeline", "group", "name", "finished_at")
    sql, values = window[: WINDOW + 1].query.sql_with_params()
    rows = _rows(_SUMMED.format(sql), values)
    found = _grouped([row for row in rows if after is None or row[:2] > after])
    return Groups(found[:PAGE], (found[PAGE - 1].pipeline, found[PAGE - 1].step) if len(found) > PAGE else None)


def _rows(sql: str, values: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def _grouped(rows: Sequence[Row]) -> list[Group]:
    by_key: dict[Key, list[Row]] = {}
    for row in rows:
        by_key.setdefault(row[:2], []).append(row)
    return [_group(key, own) for key, own in by_key.items()]


def _group(key: Key, rows: Sequence[Row]) -> Group:
    waiting = counting.of(sum(row[3] for row in rows), GROUP_CAP)
    branches = [Branch(row[2], Count(row[3], more=waiting.more)) for row in rows if row[2] != row[1]]
    return Group(*key, waiting, min(_time(row[4]) for row in rows), branches)


def _time(value: dt.datetime | str) -> dt.datetime:
    """SQLite gives the result of a function on a time as the text it stores."""
    if isinstance(value, dt.datetime):
        return value
    parsed = parse_datetime(value)
    assert parsed is not None
    return parsed.replace(tzinfo=dt.UTC)
