import itertools
import uuid
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction

from calibration.labels import Label, NoSuchSample, mark_group, mark_sample, relabel, resolve
from calibration.models import Mark, Outcome, Sample
from tests.calibration.factories import NOW, key, person, record

# Human step mark, failed check, run mark: every combination of the three, and who wins.
PRECEDENCE = {
    (True, True, True): Label(1.0, "step_mark"),
    (True, True, False): Label(1.0, "step_mark"),
    (True, False, True): Label(1.0, "step_mark"),
    (True, False, False): Label(1.0, "step_mark"),
    (False, True, True): Label(0.0, "failed_check"),
    (False, True, False): Label(0.0, "failed_check"),
    (False, False, True): Label(0.5, "run_mark"),
    (False, False, False): Label(None, ""),
}


def stored(sample_id: uuid.UUID) -> Label:
    sample = Sample.objects.get(pk=sample_id)
    return Label(sample.label, sample.label_source)


@pytest.mark.parametrize(("step", "check", "run"), PRECEDENCE)
def test_precedence(step, check, run):
    label = resolve(step_marks=[1.0] * step, check_failed=check, run_marks=[0.5] * run)
    assert label == PRECEDENCE[step, check, run]


def test_several_markers_count_as_their_mean():
    # (1 + 1 + 0.5) / 3
    assert resolve(step_marks=[1.0, 0.5, 1.0], check_failed=True, run_marks=[]).value == pytest.approx(0.8333333333)


def test_the_mean_does_not_depend_on_the_order_of_the_marks():
    marks = [0.1, 0.2, 0.3, 0.7]  # sums of these differ in the last digit, depending on the order
    means = {
        resolve(step_marks=order, check_failed=False, run_marks=[]).value for order in itertools.permutations(marks)
    }
    assert len(means) == 1


@pytest.mark.django_db
@pytest.mark.parametrize(("step", "check", "run"), PRECEDENCE)
@pytest.mark.parametrize("run_first", [True, False])
def test_precedence_as_stored(step, check, run, run_first):
    group = uuid.uuid4()
    if run and run_first:
        mark_group(group=group, by=person(), outcome="partial", via="api", now=NOW)
    sample = record(key(), group=group, check_failed=check)
    if step:
        mark_sample(sample_id=sample, by=person(), outcome="correct", via="api", now=NOW)
    if run and not run_first:
        mark_group(group=group, by=person(), outcome="partial", via="api", now=NOW)
    assert stored(sample) == PRECEDENCE[step, check, run]


@pytest.mark.django_db
def test_a_newer_mark_of_the_same_person_supersedes_and_history_is_kept():
    sample, anna = record(key()), person()
    mark_sample(sample_id=sample, by=anna, outcome="incorrect", note="looked wrong", via="api", now=NOW)
    mark_sample(sample_id=sample, by=anna, outcome="correct", via="api", now=NOW + timedelta(minutes=1))
    assert stored(sample) == Label(1.0, "step_mark")
    history = Mark.objects.order_by("made_at").values_list("outcome", "note", "is_current")
    assert list(history) == [("incorrect", "looked wrong", False), ("correct", "", True)]


@pytest.mark.django_db
def test_another_person_does_not_supersede():
    sample = record(key())
    mark_sample(sample_id=sample, by=person(), outcome="correct", via="api", now=NOW)
    mark_sample(sample_id=sample, by=person(), outcome="partial", via="api", now=NOW)
    assert stored(sample) == Label(0.75, "step_mark")


@pytest.mark.django_db
def test_a_mark_on_a_run_reaches_its_samples_and_no_others():
    group = uuid.uuid4()
    mine, failed, other = record(key(), group=group), record(key(), group=group, check_failed=True), record(key())
    anna = person()
    mark_group(group=group, by=anna, outcome="correct", via="api", now=NOW)
    mark_group(group=group, by=anna, outcome="incorrect", via="api", now=NOW)
    assert stored(mine) == Label(0.0, "run_mark")
    assert stored(failed) == Label(0.0, "failed_check")
    assert stored(other) == Label(None, "")


@pytest.mark.django_db
def test_a_mark_on_a_sample_that_does_not_exist_is_refused():
    with pytest.raises(NoSuchSample):
        mark_sample(sample_id=uuid.uuid4(), by=person(), outcome="correct", via="api", now=NOW)
    assert not Mark.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("outcome", ["", "Correct", "right", None])
def test_an_unknown_outcome_is_refused(outcome):
    with pytest.raises(ValueError, match="outcome: expected one of correct, partial, incorrect"):
        mark_sample(sample_id=record(key()), by=person(), outcome=outcome, via="api", now=NOW)
    with pytest.raises(ValueError, match="outcome"):
        mark_group(group=uuid.uuid4(), by=person(), outcome=outcome, via="api", now=NOW)


@pytest.mark.django_db(transaction=True)
def test_the_label_and_its_mark_are_written_together_or_not_at_all(monkeypatch):
    sample, anna = record(key()), person()

    def refuse(samples):
        raise IntegrityError("the disk is full")

    monkeypatch.setattr("calibration.labels.relabel", refuse)
    with pytest.raises(IntegrityError):
        mark_sample(sample_id=sample, by=anna, outcome="correct", via="api", now=NOW)
    assert not Mark.objects.exists()
    assert stored(sample) == Label(None, "")


@pytest.mark.django_db
def test_the_database_refuses_a_second_current_mark_of_one_person():
    sample, anna = record(key()), person()
    mark_sample(sample_id=sample, by=anna, outcome="correct", via="api", now=NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        Mark.objects.create(by=anna, sample_id=sample, outcome=Outcome.PARTIAL, made_at=NOW)


@pytest.mark.django_db
def test_a_note_with_characters_a_database_refuses_is_kept_visibly():
    mark = mark_sample(sample_id=record(key()), by=person(), outcome="partial", note="a\x00b\ud800", via="api", now=NOW)
    mark.refresh_from_db()
    assert mark.note == "a\\u0000b\\ud800"


@pytest.mark.django_db
def test_marking_costs_the_same_however_much_history_there_is(django_assert_num_queries):
    anna, bucket = person(), key()
    samples = [record(bucket) for _ in range(30)]
    # savepoint, sample, current mark, insert, marks on the sample, marks on the run, update, two sums, turn, release
    expected = 11 if connection.vendor == "sqlite" else 12  # PostgreSQL also locks the table against a circle
    for sample in (samples[0], samples[1]):
        with django_assert_num_queries(expected):
            mark_sample(sample_id=sample, by=anna, outcome="correct", via="api", now=NOW)


@pytest.mark.django_db
def test_relabel_says_what_it_changed():
    sample = record(key(), check_failed=True)
    Sample.objects.filter(pk=sample).update(label=1.0, label_source="step_mark")
    (difference,) = relabel(Sample.objects.all())
    assert (difference.sample, difference.stored, difference.fresh) == (
        sample,
        Label(1.0, "step_mark"),
        Label(0.0, "failed_check"),
    )
    assert relabel(Sample.objects.all()) == []
