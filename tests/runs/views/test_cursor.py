"""Ids grow with each insert but are seen in the order of commits: a lower one may come after a higher one."""

from datetime import timedelta

import pytest

from runs.models import Run, RunEvent
from runs.views.run_events import BATCH, OVERLAP, Cursor, look
from tests import factories

pytestmark = pytest.mark.django_db

LONG_AGO = factories.NOW - timedelta(hours=1)


@pytest.fixture
def run() -> Run:
    return factories.run(status="running")


def add(run: Run, *ids: int) -> None:
    RunEvent.objects.bulk_create(RunEvent(id=n, run=run, at=factories.NOW, kind="agent.text") for n in ids)


def sent(run: Run, cursor: Cursor, at: float) -> list[int]:
    """What the tail sends when it looks at that moment of the monotonic clock."""
    _, rows = look(run.id, cursor, None)
    cursor.note(rows, at)
    return [row["id"] for row in rows]


def test_each_row_is_sent_once(run: Run) -> None:
    cursor = Cursor(settled=0, history=LONG_AGO)
    add(run, 1, 2)
    assert sent(run, cursor, 0.0) == [1, 2]
    add(run, 3)
    assert sent(run, cursor, 0.4) == [3]
    assert sent(run, cursor, 0.8) == []


def test_a_row_that_commits_late_is_still_sent(run: Run) -> None:
    cursor = Cursor(settled=0, history=LONG_AGO)
    add(run, 1, 3)
    assert sent(run, cursor, 0.0) == [1, 3]
    assert cursor.settled == 0  # the next look goes back that far
    add(run, 2)
    assert sent(run, cursor, 0.4) == [2]


def test_the_look_back_ends_once_rows_are_old(run: Run) -> None:
    cursor = Cursor(settled=0, history=LONG_AGO)
    add(run, 1, 2)
    sent(run, cursor, 0.0)
    add(run, 3)
    sent(run, cursor, 5.0)
    sent(run, cursor, OVERLAP + 1)
    assert cursor.settled == 2
    assert set(cursor.sent) == {3}


def test_the_position_never_goes_back(run: Run) -> None:
    cursor = Cursor(settled=7, history=LONG_AGO)
    cursor.note([{"id": 5, "at": factories.NOW}], 0.0)
    sent(run, cursor, OVERLAP + 1)
    assert cursor.settled == 7


def test_more_rows_in_a_moment_than_one_look_takes_are_sent_look_by_look(run: Run) -> None:
    cursor = Cursor(settled=0, history=LONG_AGO)
    add(run, *range(1, 2 * BATCH + 8))
    assert sent(run, cursor, 0.0) == list(range(1, BATCH + 1))
    assert sent(run, cursor, 0.0) == list(range(BATCH + 1, 2 * BATCH + 1))
    assert sent(run, cursor, 0.0) == list(range(2 * BATCH + 1, 2 * BATCH + 8))


def test_nothing_of_a_long_history_is_looked_at_twice(run: Run) -> None:
    cursor = Cursor(settled=0, history=factories.NOW + timedelta(seconds=1))
    add(run, *range(1, BATCH + 8))
    sent(run, cursor, 0.0)
    assert (cursor.settled, cursor.sent) == (BATCH, {})
    assert len(sent(run, cursor, 0.0)) == 7
