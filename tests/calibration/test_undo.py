"""Marks that are sent twice, made many at once, or taken back."""

import uuid
from datetime import timedelta

import pytest

from calibration.imports import OldMark, import_marks
from calibration.labels import CannotUndo, Label, mark_group, mark_sample, mark_samples, undo_mark
from calibration.models import Mark, Sample
from tests.calibration.factories import NOW, key, person, record

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=1)


def say(sample, by, outcome, *, now=NOW, via="queue", **given):
    return mark_sample(sample_id=sample, by=by, outcome=outcome, via=via, now=now, **given)


def stored(sample: uuid.UUID) -> Label:
    return Label(*Sample.objects.values_list("label", "label_source").get(pk=sample))


def test_a_mark_keeps_how_it_was_made():
    mark = say(record(key()), person(), "correct", was_blind=True, offered_by="random", note="sure")
    mark.refresh_from_db()
    assert (mark.via, mark.was_blind, mark.offered_by, mark.note) == ("queue", True, "random", "sure")
    assert (mark.made_at, mark.undone_at, mark.is_current) == (NOW, None, True)


@pytest.mark.parametrize(("field", "value"), [("via", "telepathy"), ("offered_by", "best")])
def test_a_way_or_order_there_is_not_is_refused(field, value):
    sample, anna = record(key()), person()
    with pytest.raises(ValueError, match=f"{field}: expected one of"):
        say(sample, anna, "correct", **{field: value})
    assert not Mark.objects.exists()


def test_a_double_submit_is_one_mark():
    sample, anna = record(key()), person()
    first = say(sample, anna, "correct", note="x", was_blind=True)
    again = say(sample, anna, "correct", note="x", was_blind=False, now=LATER)
    assert (again.pk, again.was_blind) == (first.pk, True)
    assert Mark.objects.count() == 1


def test_a_double_submit_about_a_run_is_one_mark():
    group, anna = uuid.uuid4(), person()
    marks = [mark_group(group=group, by=anna, outcome="correct", via="page", now=now) for now in (NOW, LATER)]
    assert marks[0].pk == marks[1].pk


@pytest.mark.parametrize("change", [{"outcome": "partial"}, {"note": "y"}])
def test_another_outcome_or_note_is_another_mark(change):
    sample, anna = record(key()), person()
    first = say(sample, anna, "correct", note="x")
    second = say(sample, anna, **{"outcome": "correct", "note": "x", "now": LATER} | change)
    first.refresh_from_db()
    assert (first.is_current, second.is_current) == (False, True)


def test_another_person_with_the_same_words_is_another_mark():
    sample = record(key())
    assert say(sample, person(), "correct").pk != say(sample, person(), "correct").pk


def test_undoing_the_only_mark_leaves_what_was_before():
    sample, anna = record(key(), check_failed=True), person()
    mark = say(sample, anna, "correct")
    undone = undo_mark(mark_id=mark.pk, by=anna, now=LATER)
    assert (undone.is_current, undone.undone_at) == (False, LATER)
    assert stored(sample) == Label(0.0, "failed_check")


def test_undoing_brings_back_the_mark_it_superseded():
    sample, anna = record(key()), person()
    first, second = say(sample, anna, "correct"), say(sample, anna, "incorrect", now=LATER)
    undo_mark(mark_id=second.pk, by=anna, now=LATER)
    first.refresh_from_db()
    assert first.is_current
    assert stored(sample) == Label(1.0, "step_mark")


def test_of_several_superseded_marks_ones_own_newest_counts_again():
    sample, anna, ben = record(key()), person(), person()
    say(sample, anna, "incorrect")
    second = say(sample, anna, "correct", now=NOW + timedelta(seconds=1))
    his = say(sample, ben, "correct", now=NOW + timedelta(seconds=2))
    undo_mark(mark_id=say(sample, anna, "partial", now=LATER).pk, by=anna, now=LATER)
    assert set(Mark.objects.filter(is_current=True)) == {second, his}
    assert stored(sample) == Label(1.0, "step_mark")


def test_an_imported_mark_counts_once_all_newer_ones_are_taken_back():
    sample, anna = record(key()), person()
    mark = say(sample, anna, "correct")
    import_marks([OldMark(anna.pk, "incorrect", NOW - timedelta(days=1), sample_id=sample)])
    assert stored(sample) == Label(1.0, "step_mark")
    undo_mark(mark_id=mark.pk, by=anna, now=LATER)
    assert stored(sample) == Label(0.0, "step_mark")


def test_what_was_undone_does_not_come_back():
    sample, anna = record(key()), person()
    for outcome in ("incorrect", "correct"):
        undo_mark(mark_id=say(sample, anna, outcome).pk, by=anna, now=LATER)
    assert stored(sample) == Label(None, "")
    assert Mark.objects.filter(undone_at=LATER).count() == 2


def test_undoing_leaves_other_people_alone():
    sample, anna = record(key()), person()
    say(sample, person(), "incorrect")
    undo_mark(mark_id=say(sample, anna, "correct").pk, by=anna, now=LATER)
    assert stored(sample) == Label(0.0, "step_mark")


def test_undoing_a_mark_on_a_run_relabels_all_its_samples():
    group, anna = uuid.uuid4(), person()
    samples = [record(key(), group=group) for _ in range(2)]
    mark = mark_group(group=group, by=anna, outcome="correct", via="page", now=NOW)
    undo_mark(mark_id=mark.pk, by=anna, now=LATER)
    assert [stored(sample) for sample in samples] == [Label(None, "")] * 2


def test_nobody_undoes_the_mark_of_another():
    mark = say(record(key()), person(), "correct")
    with pytest.raises(CannotUndo, match="no such mark"):
        undo_mark(mark_id=mark.pk, by=person(), now=LATER)
    mark.refresh_from_db()
    assert mark.is_current


def test_what_does_not_count_cannot_be_undone():
    sample, anna = record(key()), person()
    first, second = say(sample, anna, "correct"), say(sample, anna, "partial", now=LATER)
    with pytest.raises(CannotUndo, match="undone or replaced"):
        undo_mark(mark_id=first.pk, by=anna, now=LATER)
    undo_mark(mark_id=second.pk, by=anna, now=LATER)
    with pytest.raises(CannotUndo, match="undone or replaced"):
        undo_mark(mark_id=second.pk, by=anna, now=LATER)


def test_many_at_once_keep_what_says_the_same_already():
    anna = person()
    samples = [record(key()) for _ in range(3)]
    say(samples[0], anna, "correct")
    say(samples[1], anna, "incorrect")
    made = mark_samples(sample_ids=samples, by=anna, outcome="correct", via="bulk", now=LATER)
    assert {mark.sample_id for mark in made} == set(samples[1:])
    assert {stored(sample) for sample in samples} == {Label(1.0, "step_mark")}
    assert Mark.objects.filter(is_current=True).count() == 3
