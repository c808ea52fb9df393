"""Runs from before there were prices: their tokens are known where they were told, their cost is not."""

import datetime as dt
from importlib import import_module

import pytest
from django.db import connection

from runs import books
from runs.models import Run, Spending
from runs.spending import Spent
from tests import factories

pytestmark = pytest.mark.django_db

migration = import_module("runs.migrations.0010_money")


def fill() -> None:
    with connection.cursor() as cursor:
        cursor.execute(migration.TOTALS)
        cursor.execute(migration.days(connection.vendor))


def test_every_older_step_that_called_a_model_is_unpriced() -> None:
    late = factories.run(team="a", now=dt.datetime(2026, 11, 29, 23, 59, tzinfo=dt.UTC))
    factories.step(late, "told", input_tokens=10, output_tokens=5)
    factories.step(late, "half-told", index=1, input_tokens=10)
    factories.step(late, "left-out", index=2, status="skipped")
    factories.step(late, "by-hand", index=3, agent="")
    factories.step(late, "asking", index=4, status="running", completed_at=None)
    early = factories.run(team="a", now=dt.datetime(2026, 11, 30, 0, 1, tzinfo=dt.UTC))
    factories.step(early, input_tokens=1, output_tokens=1)
    factories.run(team="b")

    fill()

    late.refresh_from_db()
    assert (late.tokens, late.steps_untold, late.cost_nanos, late.steps_unpriced) == (25, 1, 0, 2)
    assert books.by_day(since=dt.date(2026, 1, 1)) == {
        dt.date(2026, 11, 29): Spent(2, 25, 1, 0, 2),
        dt.date(2026, 11, 30): Spent(1, 2, 0, 0, 1),
    }
    assert Spending.objects.filter(is_sum=True).count() == 2
    assert Run.objects.get(team="b").steps_unpriced == 0
