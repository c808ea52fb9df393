"""Several people and workers at once, each on a connection of its own."""

import threading
import uuid

import pytest
from django.db import transaction

from calibration import buckets, tallies
from calibration.buckets import bucket_id
from calibration.labels import differences, mark_group, mark_sample, mark_samples, undo_mark
from calibration.models import Bucket, Mark, Outcome, Sample, Tally
from tests.at_once import at_once
from tests.calibration.factories import NOW, key, person, record

pytestmark = pytest.mark.django_db(transaction=True)


def test_one_person_marking_a_step_in_six_browsers_has_one_current_mark():
    sample, anna = record(key()), person()
    outcomes = ["correct", "incorrect", "partial"] * 2
    how = {"sample_id": sample, "by": anna, "via": "api", "now": NOW}
    at_once(*[lambda o=o, n=n: mark_sample(outcome=o, note=f"{n}", **how) for n, o in enumerate(outcomes)])
    assert Mark.objects.count() == 6
    assert Mark.objects.filter(is_current=True).count() == 1
    assert differences(list(Sample.objects.all())) == []


def test_one_person_marking_a_run_without_samples_in_six_browsers_has_one_current_mark():
    group, anna = uuid.uuid4(), person()
    at_once(*[lambda: mark_group(group=group, by=anna, outcome="correct", via="api", now=NOW)] * 6)
    assert Mark.objects.filter(is_current=True).count() == 1


def test_marks_on_steps_and_runs_at_once_leave_the_right_labels_and_never_wait_in_a_circle():
    group = uuid.uuid4()
    samples = [record(key(), group=group) for _ in range(4)]
    people = [person() for _ in range(3)]
    jobs = []
    for anna in people:
        jobs.append(
            lambda who=anna: [mark_sample(sample_id=s, by=who, outcome="partial", via="api", now=NOW) for s in samples]
        )
        jobs.append(
            lambda who=anna: [mark_group(group=group, by=who, outcome="correct", via="api", now=NOW) for _ in range(4)]
        )
    at_once(*jobs)
    assert differences(list(Sample.objects.all())) == []
    assert set(Sample.objects.values_list("label", "label_source")) == {(0.5, "step_mark")}


def test_samples_that_arrive_while_their_run_is_marked_get_the_mark():
    group, bucket = uuid.uuid4(), bucket_id(key())

    def arrive():
        for _ in range(10):
            with transaction.atomic():
                record(key(), group=group)
                # The gate writes more in the same transaction.
                Bucket.objects.filter(pk=bucket).values_list("step").get()

    at_once(arrive, arrive, lambda: mark_group(group=group, by=person(), outcome="incorrect", via="api", now=NOW))
    assert Sample.objects.count() == 20
    assert differences(list(Sample.objects.all())) == []
    assert set(Sample.objects.values_list("label", flat=True)) == {0.0}


def test_sums_stay_exact_while_checks_fail_and_people_mark_undo_and_mark_in_bulk():
    group = uuid.uuid4()
    # One half in the order of its sums and one against it: held in order of id alone, they would wait in a circle.
    up = [record(key(), number / 20, id=uuid.UUID(int=number + 1)) for number in range(20)]
    down = [record(key(), 0.95 - number / 20, id=uuid.UUID(int=number + 21), group=group) for number in range(20)]
    people = [person() for _ in range(4)]

    def fail_checks(confidences):
        for confidence in confidences:
            record(key(), confidence, check_failed=True)

    def change_ones_mind(who, order):
        for sample in order:
            mark = mark_sample(sample_id=sample, by=who, outcome="correct", via="queue", now=NOW)
            undo_mark(mark_id=mark.pk, by=who, now=NOW)

    def mark_all(who, samples):
        for outcome in Outcome.values * 3:
            mark_samples(sample_ids=samples, by=who, outcome=outcome, via="bulk", now=NOW)

    at_once(
        lambda: fail_checks([0.9, 0.4, 0.6] * 3),
        lambda: fail_checks([0.4, 0.9, 0.5] * 3),
        lambda: change_ones_mind(people[0], up[:6]),
        lambda: mark_all(people[1], up),
        lambda: mark_all(people[2], down),
        lambda: mark_group(group=group, by=people[3], outcome="correct", via="page", now=NOW),
    )
    assert differences(list(Sample.objects.all())) == []
    assert tallies.differences() == []
    assert sum(Tally.objects.values_list("n", flat=True)) == 40 + 18


def test_a_mark_waits_for_a_sample_that_is_written_and_not_yet_committed():
    group, written, marked = uuid.uuid4(), threading.Event(), threading.Event()
    bucket_id(key())
    anna = person()

    def arrive():
        with transaction.atomic():
            record(key(), group=group)
            written.set()
            # Long enough for the mark to be made in between, if nothing held it off.
            marked.wait(timeout=0.5)

    def mark():
        written.wait(timeout=10)
        mark_group(group=group, by=anna, outcome="correct", via="api", now=NOW)
        marked.set()

    at_once(arrive, mark)
    assert Sample.objects.get().label == 1.0


def test_many_workers_that_meet_a_new_bucket_make_one():
    found = []
    at_once(*[lambda: found.append(bucket_id(key()))] * 6)
    assert len(set(found)) == 1
    assert Bucket.objects.count() == 1


def test_the_same_sample_from_two_workers_is_one_sample():
    sample, group = uuid.uuid4(), uuid.uuid4()
    at_once(*[lambda: record(key(), id=sample, group=group)] * 4)
    assert Sample.objects.count() == 1


def test_the_same_failed_check_from_two_workers_counts_once():
    sample, group = uuid.uuid4(), uuid.uuid4()
    at_once(*[lambda: record(key(), id=sample, group=group, check_failed=True)] * 4)
    assert Tally.objects.get().n == 1
    assert tallies.differences() == []


@pytest.fixture(autouse=True)
def _forget_ids():
    yield
    buckets.forget_ids()
