"""The charts of a step tell the time of their reader, as its tables do."""

import uuid
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django.utils import timezone

from insights.charts import said_against_shown
from insights.measures import share
from insights.said_shown import Answer, Comparison

AT = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


def test_answers_are_drawn_at_the_readers_clock() -> None:
    answer = Answer(
        step_id=uuid.uuid4(), run_id=uuid.uuid4(), at=AT, said=0.9, shown=0.5, before=0.9,
        enforced=False, wide=True, threshold=0.75, check_failed=False,
    )  # fmt: skip
    compared = Comparison([answer], 1, 0.9, 0.5, share(1, 1), share(1, 1), share(1, 1), True)
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert said_against_shown(compared)["answers"][0]["at"] == "2026-07-01T14:00:00.000"
