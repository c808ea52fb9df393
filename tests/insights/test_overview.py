import datetime as dt

import pytest

from insights import overview
from tests import factories
from tests.factories import NOW
from tests.insights.history import answer, answers, key

pytestmark = pytest.mark.django_db


def records(**given: str) -> list[overview.StepRecord]:
    return overview.step_records(stage=given.get("stage", "all"), bin_width=0.1, n_min=4)  # type: ignore[arg-type]


def test_the_most_miscalibrated_step_comes_first() -> None:
    olga = factories.user()
    answers("cccc", 0.95, by=olga, bucket=key(step="right"))
    answers("ciii", 0.95, by=olga, bucket=key(step="worse"))  # 70 points off
    answers("ccii", 0.95, by=olga, bucket=key(step="wrong"))  # 45 points off
    answer(key(step="unmarked"))
    answers("c", 0.95, by=olga, bucket=key(step="few"))
    assert [step.name for step in records()] == ["worse", "wrong", "right", "few", "unmarked"]


def test_what_was_replaced_counts_less_than_what_is_in_use() -> None:
    olga = factories.user()
    long_ago = NOW - dt.timedelta(days=30)
    answers("iiii", 0.95, by=olga, bucket=key(step="mended", prompt_hash="old"), at=long_ago)
    answers("cccc", 0.95, by=olga, bucket=key(step="mended", prompt_hash="new"))
    answers("cici", 0.95, by=olga, bucket=key(step="broken"))
    broken, mended = records()
    assert (broken.name, mended.name) == ("broken", "mended")
    assert [(one.summary.key.prompt_hash, one.in_use) for one in mended.records] == [("new", True), ("old", False)]


def test_figures_of_a_record() -> None:
    olga = factories.user()
    answers("ccci", 0.9, by=olga)
    answers("p", 0.4, by=olga)
    [step] = records()
    [record] = step.records
    # (4 x 0.9 + 0.4) / 5, and (3 x 1 + 0 + 0.5) / 5
    assert record.said == pytest.approx(0.8)
    assert record.accuracy.value == pytest.approx(0.7)
    assert (step.total_n, step.validated, step.flags, record.last_seen) == (5, 1, 1, NOW)
    assert record.answer.startswith("Runs scoring ~90% here are only 75% correct")


def test_without_labels_nothing_is_claimed() -> None:
    answer()
    [step] = records()
    [record] = step.records
    assert (record.said, record.accuracy.value, record.worst) == (None, None, None)
    assert record.answer == "Nobody knows yet: none of its answers has a label."


def test_too_few_labels_are_too_few_to_say() -> None:
    answers("ii", 0.95, by=factories.user())
    assert records()[0].records[0].answer == "Too few labels to say: the fullest bin has 2, and 4 are needed."


def test_the_stage_asked_for_is_the_one_counted() -> None:
    olga = factories.user()
    answers("cc", 0.95, by=olga, stage="testing")
    answers("i", 0.95, by=olga)
    assert [records(stage=stage)[0].total_n for stage in ("all", "testing", "production")] == [3, 2, 1]


def test_narrowing() -> None:
    olga = factories.user()
    answers("iiii", 0.95, by=olga, bucket=key(step="Refund"))
    answers("cccc", 0.95, by=olga, bucket=key(step="ticket", agent="command:other"))
    answer(key(step="ticket"))
    every = records()

    def names(**given: str) -> list[str]:
        return [step.name for step in overview.narrowed(every, **given)]

    assert names() == ["Refund", "ticket"]
    assert names(contains="fund") == ["Refund"]
    assert names(show="flagged") == ["Refund"]
    assert names(show="validated") == ["Refund", "ticket"]
    assert names(show="unmarked") == []
    assert names(show="unmarked", agent="command:assess") == ["ticket"]
    assert names(agent="nobody") == []
