import datetime as dt

import pytest

from calibration.models import Bucket
from insights.overview import StepRecord, step_records
from tests import factories
from tests.factories import NOW
from tests.insights.history import answer, answers, key

pytestmark = pytest.mark.django_db


def records() -> list[StepRecord]:
    return step_records(stage="all", bin_width=0.1, n_min=4, bucket_ids=Bucket.objects.values_list("id", flat=True))


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


def test_of_each_agent_the_version_that_answered_last_is_in_use() -> None:
    earlier = NOW - dt.timedelta(days=1)
    answer(key(prompt_hash="1"), at=earlier)
    answer(key(prompt_hash="2"))
    answer(key(agent="command:other", prompt_hash="1"), at=earlier)
    [step] = records()
    used = {(one.summary.key.agent, one.summary.key.prompt_hash) for one in step.records if one.in_use}
    assert used == {("command:assess", "2"), ("command:other", "1")}
    assert [one.in_use for one in step.records] == [True, True, False]


def test_a_flag_the_interval_bears_out_goes_before_a_wider_one_it_does_not() -> None:
    olga = factories.user()
    answers("ccii", 0.8, by=olga)  # 30 points; Wilson of 2 in 4 is 15 to 85 %, which still holds 80 %
    answers("ccciiiii" * 3, 0.65, by=olga)  # 27.5 points; of 9 in 24 it is 21 to 57 %
    [[record]] = [step.records for step in records()]
    assert record.worst is not None
    assert (record.worst.mean_confidence, record.worst.supported) == (pytest.approx(0.65), True)
