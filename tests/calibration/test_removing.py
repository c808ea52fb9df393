import uuid

import pytest

from calibration import tallies
from calibration.labels import mark_group, mark_sample
from calibration.models import Bucket, Mark, Sample, Tally, TallyOfTen
from calibration.removing import remove_groups, remove_records
from tests.calibration.factories import NOW, key, person, record

pytestmark = pytest.mark.django_db
HOW = {"outcome": "correct", "via": "demo", "now": NOW}


@pytest.fixture
def groups():
    """Two runs of one step: each with a failed check, a marked sample, and a mark on the run."""
    anna, made = person(), [uuid.uuid4() for _ in range(2)]
    for group in made:
        record(key(), 0.9, group=group, check_failed=True)
        mark_sample(sample_id=record(key(), 0.5, group=group), by=anna, **HOW)
        mark_group(group=group, by=anna, **HOW)
    return made


def test_the_samples_of_a_group_go_with_their_marks_and_stop_counting(groups):
    remove_groups(groups[:1])
    assert set(Sample.objects.values_list("group", flat=True)) == {groups[1]}
    assert (Sample.objects.count(), Mark.objects.count()) == (2, 2)
    assert sum(Tally.objects.values_list("n", flat=True)) == 2
    assert tallies.differences() == []


def test_records_go_once_they_are_empty(groups):
    remove_groups(groups[:1])
    remove_records(steps=["triage"], agents=["command:triage"])
    assert Bucket.objects.count() == 1
    remove_groups(groups)
    remove_records(steps=["triage"], agents=["command:triage"])
    assert not Bucket.objects.exists()
    assert not Tally.objects.exists()
    assert not TallyOfTen.objects.exists()


def test_other_steps_stay(groups):
    record(key(step="other"), check_failed=True)
    remove_groups(groups)
    remove_records(steps=["triage"], agents=["command:triage"])
    assert [bucket.step for bucket in Bucket.objects.all()] == ["other"]
    assert tallies.differences() == []
