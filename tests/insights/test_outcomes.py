from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.http import QueryDict

from insights import periods
from insights.outcomes import outcomes
from runs.ids import first_at
from tests import factories

NOW = datetime(2026, 11, 30, 14, 32, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def ran(ago: timedelta, *statuses: str) -> None:
    at = NOW - ago
    for n, status in enumerate(statuses):
        identity = first_at(at).int + len(factories.Run.objects.all()) + n + 1
        factories.run(id=factories.Run._meta.pk.to_python(identity), status=status, now=at)


def of(key: str, zone: Any = UTC) -> Any:
    return outcomes(periods.parse(QueryDict(f"period={key}"), now=NOW), now=NOW, zone=zone)


def test_runs_are_counted_in_the_bar_they_began_in() -> None:
    ran(timedelta(minutes=5), "completed", "completed", "failed")
    ran(timedelta(hours=1), "escalated")
    ran(timedelta(hours=23, minutes=50), "stopped")
    ran(timedelta(hours=24, minutes=10), "completed")
    found = of("24h")
    # NOW is 14:32: the last bar is 14:00 to 14:32, the one before it 13:00 to 14:00.
    assert found.counts[-1] == {"completed": 2, "failed": 1}
    assert found.counts[-2] == {"escalated": 1}
    assert found.counts[0] == {"stopped": 1}
    assert found.total == {"completed": 2, "failed": 1, "escalated": 1, "stopped": 1}
    # 4 of the 5 that ended did not fail
    assert (found.runs, found.success.n, found.success.value) == (5, 5, 0.8)


def test_all_time_begins_with_the_first_run() -> None:
    ran(timedelta(days=400), "completed")
    ran(timedelta(days=1), "failed")
    found = of("all")
    assert found.total == {"completed": 1, "failed": 1}
    assert found.edges[0] == NOW - timedelta(days=400)


def test_before_the_first_run() -> None:
    assert (of("all").runs, of("7d").success.value) == (0, None)


def test_a_run_that_began_this_very_moment_counts() -> None:
    factories.run(id=first_at(NOW), status="running", now=NOW)
    assert of("24h").counts[-1] == {"running": 1}


@pytest.mark.parametrize(("key", "queries"), [("24h", 1), ("7d", 1), ("30d", 1), ("all", 2)])
def test_its_queries_do_not_grow(key: str, queries: int, django_assert_num_queries: Any) -> None:
    for days in range(0, 200, 20):
        ran(timedelta(days=days, minutes=1), "completed")
    with django_assert_num_queries(queries):
        of(key)


def test_days_are_those_of_the_reader() -> None:
    # 23:30 UTC on the 28th is the 29th in Berlin.
    at = datetime(2026, 11, 28, 23, 30, tzinfo=UTC)
    ran(NOW - at, "completed")
    found = of("7d", ZoneInfo("Europe/Berlin"))
    assert found.counts[-2] == {"completed": 1}
    assert of("7d").counts[-3] == {"completed": 1}
