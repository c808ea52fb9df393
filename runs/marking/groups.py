"""What waits in the marking queue, by pipeline and step, and the numbers above the list."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.utils.dateparse import parse_datetime

from calibration.models import LabelSource, Sample
from runs.marking import counting
from runs.marking.counting import Count
from runs.marking.filters import QueueFilters
from runs.marking.holds import for_person
from runs.marking.names import count_pipelines
from runs.models import QueueItem

PAGE = 20
GROUP_CAP = 1_000
# Under a filter that has no index by step, the steps are counted among this many of the oldest that match.
WINDOW = 3_000
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
    """One page in order of pipeline and step. ``after`` is the key of the next page, None on the last.

    ``among`` is how many of the oldest that match were looked at, where that was not all: steps of
    which only newer ones wait are not in the list. None where it is complete.
    """

    rows: list[Group]
    after: Key | None
    among: int | None = None


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
        pipelines=count_pipelines(),
        runs=counting.upto(waiting.values("run_id").distinct(), CARD_CAP),
        steps=counting.upto(waiting, CARD_CAP),
        coverage=marked / len(newest) if newest else None,
        coverage_of=len(newest),
    )


_ITEM = f'"{QueueItem._meta.db_table}"'
# Each pipeline, each step of it, each branch of that, found by one step into the index; then as many entries of it as
# are counted. The cost grows with the names alone.
_BY_NAME = f"""
    WITH RECURSIVE pipelines(name) AS (
        SELECT MIN(pipeline) FROM {_ITEM}
        UNION ALL
        SELECT (SELECT MIN(pipeline) FROM {_ITEM} WHERE pipeline > pipelines.name)
        FROM pipelines WHERE pipelines.name IS NOT NULL
    ), steps(pipeline, step) AS (
        SELECT name, (SELECT MIN("group") FROM {_ITEM} WHERE pipeline = pipelines.name)
        FROM pipelines WHERE name IS NOT NULL AND (%(pipeline)s = '' OR name = %(pipeline)s)
        UNION ALL
        SELECT pipeline,
            (SELECT MIN(item."group") FROM {_ITEM} AS item
             WHERE item.pipeline = steps.pipeline AND item."group" > steps.step)
        FROM steps WHERE step IS NOT NULL
    ), shown(pipeline, step) AS (
        SELECT pipeline, step FROM steps
        WHERE step IS NOT NULL AND (%(step)s = '' OR step = %(step)s)
          AND (pipeline > %(after)s OR (pipeline = %(after)s AND step > %(after_step)s))
        ORDER BY pipeline, step LIMIT %(limit)s
    ), names(pipeline, step, name) AS (
        SELECT pipeline, step,
            (SELECT MIN(item.name) FROM {_ITEM} AS item
             WHERE item.pipeline = shown.pipeline AND item."group" = shown.step)
        FROM shown
        UNION ALL
        SELECT pipeline, step,
            (SELECT MIN(item.name) FROM {_ITEM} AS item
             WHERE item.pipeline = names.pipeline AND item."group" = names.step AND item.name > names.name)
        FROM names WHERE name IS NOT NULL
    )
    SELECT pipeline, step, name,
        (SELECT COUNT(*) FROM (
            SELECT 1 FROM {_ITEM} AS item
            WHERE item.pipeline = names.pipeline AND item."group" = names.step AND item.name = names.name
              AND (first_marker_id IS NULL OR first_marker_id <> %(by)s)
            LIMIT {GROUP_CAP + 1}) AS counted),
        (SELECT finished_at FROM {_ITEM} AS item
         WHERE item.pipeline = names.pipeline AND item."group" = names.step AND item.name = names.name
           AND (first_marker_id IS NULL OR first_marker_id <> %(by)s)
         ORDER BY finished_at LIMIT 1)
    FROM names WHERE name IS NOT NULL ORDER BY pipeline, step, name
"""  # noqa: S608 (our own table)
_SUMMED = """
    SELECT pipeline, "group", name, COUNT(*), MIN(finished_at) FROM ({}) AS waiting
    GROUP BY pipeline, "group", name ORDER BY pipeline, "group", name
"""


def _by_name(filters: QueueFilters, by: User, after: Key | None) -> Groups:
    start, start_step = after or ("", "")
    values = {"pipeline": filters.pipeline, "step": filters.step, "after": start, "after_step": start_step}
    rows = _rows(_BY_NAME, {**values, "limit": PAGE + 1, "by": by.pk})
    return _page(rows)


def _among_oldest(filters: QueueFilters, by: User, now: dt.datetime, after: Key | None) -> Groups:
    matching = filters.apply(QueueItem.objects.filter(for_person(by)), now=now)
    window = matching.order_by("finished_at", "step_id").values_list("pipeline", "group", "name", "finished_at")
    sql, values = window[:WINDOW].query.sql_with_params()
    rows = _rows(_SUMMED.format(sql), values)
    is_all = sum(row[3] for row in rows) < WINDOW
    page = _page([row for row in rows if after is None or row[:2] > after], is_all=is_all)
    return page if is_all else replace(page, among=WINDOW)


def _rows(sql: str, values: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def _page(rows: Sequence[Row], *, is_all: bool = True) -> Groups:
    by_key: dict[Key, list[Row]] = {}
    for row in rows:
        by_key.setdefault(row[:2], []).append(row)
    shown = dict(list(by_key.items())[:PAGE])
    waiting = {key: [row for row in own if row[3]] for key, own in shown.items()}
    found = [_group(key, own, is_all=is_all) for key, own in waiting.items() if own]
    return Groups(found, next(reversed(shown)) if len(by_key) > PAGE else None)


def _group(key: Key, rows: Sequence[Row], *, is_all: bool) -> Group:
    counted = sum(row[3] for row in rows)
    waiting = Count(min(counted, GROUP_CAP), more=counted > GROUP_CAP or not is_all)
    branches = [Branch(row[2], Count(row[3], more=waiting.more)) for row in rows if row[2] != row[1]]
    return Group(*key, waiting, min(_time(row[4]) for row in rows), branches)


def _time(value: dt.datetime | str) -> dt.datetime:
    """SQLite stores UTC without saying so, and gives the result of a function on a time as the text it stores."""
    moment = parse_datetime(value) if isinstance(value, str) else value
    assert moment is not None
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
