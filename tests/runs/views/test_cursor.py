"""Ids grow with each insert but are seen in the order of commits: a lower one may come after a higher one."""

from typing import Any

from runs.views.run_events import OVERLAP, Cursor


def rows(*ids: int) -> list[dict[str, Any]]:
    return [{"id": row_id} for row_id in ids]


def ids(found: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in found]


def test_each_row_is_sent_once() -> None:
    cursor = Cursor(settled=0)
    assert ids(cursor.fresh(rows(1, 2), 0.0)) == [1, 2]
    assert ids(cursor.fresh(rows(1, 2, 3), 0.4)) == [3]


def test_a_row_that_commits_late_is_still_sent() -> None:
    cursor = Cursor(settled=0)
    cursor.fresh(rows(1, 3), 0.0)
    assert cursor.settled == 0  # the next look goes back that far
    assert ids(cursor.fresh(rows(1, 2, 3), 0.4)) == [2]


def test_the_look_back_ends_once_rows_are_old() -> None:
    cursor = Cursor(settled=0)
    cursor.fresh(rows(1, 2), 0.0)
    cursor.fresh(rows(1, 2, 3), 5.0)
    cursor.fresh(rows(1, 2, 3), OVERLAP + 1)
    assert cursor.settled == 2
    assert set(cursor.sent) == {3}


def test_the_position_never_goes_back() -> None:
    cursor = Cursor(settled=7)
    cursor.fresh(rows(5), 0.0)
    cursor.fresh(rows(), OVERLAP + 1)
    assert cursor.settled == 7
