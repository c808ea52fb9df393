"""What a long call shows of its trace while it lasts."""

import pytest
from django.db import OperationalError

from runs import rows
from runs.engine import primary
from runs.engine.primary import LIVE_AT_MOST, LiveTrace
from runs.models import RunEvent
from tests.runs.engine.rows import a_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(primary, "LIVE_AFTER", -1.0)


def test_a_database_that_is_away_for_a_moment_does_not_end_the_agents_call(monkeypatch):
    live = LiveTrace(a_run(), "look")
    with monkeypatch.context() as away:

        def refuse(_rows: object) -> None:
            raise OperationalError("the database is away")

        away.setattr(rows, "insert", refuse)
        away.setattr(primary.connection, "close", lambda: None)  # the test's own transaction lives in it
        live.add({"type": "text", "content": "lost"})
    live.add({"type": "text", "content": "shown"})
    assert list(RunEvent.objects.values_list("message", flat=True)) == ["shown"]


def test_a_flood_of_events_does_not_fill_the_log():
    live = LiveTrace(a_run(), "look")
    for number in range(LIVE_AT_MOST + 50):
        live.add({"type": "text", "content": str(number)})
    assert RunEvent.objects.count() == LIVE_AT_MOST
