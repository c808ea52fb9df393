"""What a team spent on a day: written loose, added up, and the same number before and after."""

from datetime import UTC, date, datetime

import pytest

from calibration.statements import execute
from runs import books
from runs.models import Spending
from runs.spending import Spent
from tests.at_once import at_once
from tests.factories import run, signal, step

pytestmark = pytest.mark.django_db

FIRST, SECOND = date(2026, 11, 29), date(2026, 11, 30)


def book(*entries):
    execute(books.bookings(entries))


def test_sums_by_team_and_by_day():
    book(("a", FIRST, Spent(1, 100, 0, 5, 0)), ("b", FIRST, Spent(1, 10, 1, 0, 1)))
    book(("a", SECOND, Spent(2, 50, 0, 7, 1)))

    assert books.by_team(since=FIRST) == {"a": Spent(3, 150, 0, 12, 1), "b": Spent(1, 10, 1, 0, 1)}
    assert books.by_team(since=SECOND) == {"a": Spent(2, 50, 0, 7, 1)}
    assert books.by_day(since=FIRST) == {FIRST: Spent(2, 110, 1, 5, 1), SECOND: Spent(2, 50, 0, 7, 1)}
    assert books.by_day(since=FIRST, team="b") == {FIRST: Spent(1, 10, 1, 0, 1)}
    assert books.by_day(since=FIRST, team="") == {}


def test_nothing_is_not_written_and_one_day_is_one_row():
    book(("a", FIRST, Spent()))
    assert not Spending.objects.exists()
    book(("a", FIRST, Spent(1)), ("a", FIRST, Spent(1)))
    assert Spending.objects.get().steps == 2


def loose(n, *, team="a", day=FIRST):
    for _ in range(n):
        book((team, day, Spent(1, 2, 0, 3, 0)))


def test_a_few_loose_rows_are_left_alone(monkeypatch):
    monkeypatch.setattr(books, "LOOSE", 4)
    loose(3)
    assert books.fold() == 0
    assert Spending.objects.filter(is_sum=False).count() == 3


def test_folding_changes_no_sum(monkeypatch):
    monkeypatch.setattr(books, "LOOSE", 4)
    loose(3)
    loose(2, day=SECOND)
    before = books.by_day(since=FIRST)

    assert books.fold() == 5
    assert [(row.day, row.is_sum, row.cost_nanos) for row in Spending.objects.order_by("day")] == [
        (FIRST, True, 9),
        (SECOND, True, 6),
    ]
    assert books.by_day(since=FIRST) == before == {FIRST: Spent(3, 6, 0, 9, 0), SECOND: Spent(2, 4, 0, 6, 0)}

    loose(4)
    assert books.fold() == 4
    assert books.by_team(since=FIRST) == {"a": Spent(9, 18, 0, 27, 0)}
    assert Spending.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_sweepers_at_once_count_nothing_twice(monkeypatch):
    monkeypatch.setattr(books, "LOOSE", 4)
    monkeypatch.setattr(books, "AT_ONCE", 10)
    loose(20)
    at_once(*[books.fold] * 4)
    books.fold()
    assert books.by_team(since=FIRST) == {"a": Spent(20, 40, 0, 60, 0)}
    assert Spending.objects.filter(is_sum=True).count() == 1


def test_the_day_of_a_run_is_that_in_utc():
    assert books.day_of(datetime(2026, 11, 30, 0, 30, tzinfo=UTC)) == SECOND


def test_what_a_run_had_added_can_be_taken_out_again(django_assert_num_queries):
    known = run(team="a")
    told = {"input_tokens": 10, "output_tokens": 5}
    judged = step(known, "one", cost_nanos=7, **told)
    signal(judged, "verifier", **told)
    signal(judged, "check", **told)  # calls no model
    step(known, "two", index=1, **told)  # told its tokens, has no known price
    step(known, "left-out", index=2, status="skipped")
    step(known, "by-hand", index=3, agent="", cost_nanos=0)
    step(known, "asking", index=4, status="running", completed_at=None)
    nothing = run(team="b")

    with django_assert_num_queries(3):
        found = dict(books.spent_by([known.id, nothing.id]))

    assert found == {known: Spent(2, 45, 0, 7, 1), nothing: Spent()}
