"""Marks, and what they do to the queue."""

import datetime as dt
import uuid

import pytest

from calibration.labels import CannotUndo, NoSuchSample, differences
from calibration.models import Mark, Sample
from runs.marking import chance, marks, offers
from runs.marking.holds import NotWaiting
from runs.models import QueueItem, QueueSkip
from tests import factories
from tests.factories import NOW
from tests.runs.marking.waiting import waiting

pytestmark = pytest.mark.django_db


def mark(item, by, outcome="correct", *, now=NOW, **given):
    fields = {"was_blind": True, "via": "queue"} | given
    return marks.mark_step(step_id=item.pk, by=by, outcome=outcome, now=now, **fields)


def label(item):
    return Sample.objects.values_list("label", "label_source").get(pk=item.pk)


def test_a_marked_step_leaves_the_queue_and_the_mark_says_how_it_was_made(anna):
    item = waiting()
    marks.skip(step_id=item.pk, by=anna, now=NOW)
    made = mark(item, anna, "partial", note="half right", offered_by="random")
    assert not QueueItem.objects.exists()
    assert not QueueSkip.objects.exists()
    assert label(item) == (0.5, "step_mark")
    stored = Mark.objects.get()
    assert stored == made
    assert (stored.outcome, stored.note, stored.was_blind, stored.via, stored.offered_by, stored.made_at) == (
        ("partial", "half right", True, "queue", "random", NOW)
    )


def test_a_double_submit_is_one_mark(anna):
    item = waiting()
    assert mark(item, anna) == mark(item, anna)
    assert Mark.objects.get().was_blind


@pytest.mark.parametrize("undone", [False, True])
def test_a_change_after_the_machine_was_revealed_is_not_blind(anna, undone):
    item = waiting()
    first = mark(item, anna)
    if undone:
        marks.undo(mark_id=first.pk, by=anna, now=NOW)
    assert not mark(item, anna, "incorrect").was_blind
    assert Mark.objects.get(pk=first.pk).was_blind


def test_another_person_is_as_blind_as_they_are(anna, ben):
    item = waiting()
    mark(item, anna)
    assert mark(item, ben).was_blind


@pytest.mark.parametrize("wrong", [{"outcome": "right"}, {"via": "telepathy"}, {"offered_by": "whim"}])
def test_what_is_unknown_changes_nothing(anna, wrong):
    item = waiting()
    with pytest.raises(ValueError, match="expected one of"):
        mark(item, anna, **{"outcome": "correct"} | wrong)
    assert QueueItem.objects.exists()
    assert not Mark.objects.exists()


def test_a_step_without_a_confidence_cannot_be_marked(anna):
    step = factories.step(factories.run())
    with pytest.raises(NoSuchSample):
        mark(step, anna)


def test_undo_puts_the_step_back_as_it_was(anna):
    item = waiting(check_failed=True, is_replay=True, name="look/1", team="ops", stage="testing")
    before = {field.attname: getattr(item, field.attname) for field in QueueItem._meta.concrete_fields}
    made = mark(item, anna)
    marks.undo(mark_id=made.pk, by=anna, now=NOW + dt.timedelta(minutes=1))
    item = QueueItem.objects.get()
    assert {field.attname: getattr(item, field.attname) for field in QueueItem._meta.concrete_fields} == before
    assert label(item) == (0.0, "failed_check")


def test_undoing_a_change_of_mind_leaves_the_mark_before_it_standing(anna):
    item = waiting()
    mark(item, anna, "incorrect")
    second = mark(item, anna, "correct", now=NOW + dt.timedelta(minutes=1))
    marks.undo(mark_id=second.pk, by=anna, now=NOW + dt.timedelta(minutes=2))
    assert label(item) == (0.0, "step_mark")
    assert not QueueItem.objects.exists()


def test_undo_is_for_ones_own_mark_and_once(anna, ben):
    made = mark(waiting(), anna)
    with pytest.raises(CannotUndo):
        marks.undo(mark_id=made.pk, by=ben, now=NOW)
    marks.undo(mark_id=made.pk, by=anna, now=NOW)
    with pytest.raises(CannotUndo):
        marks.undo(mark_id=made.pk, by=anna, now=NOW)


def test_a_step_that_a_colleague_marked_too_stays_out_of_the_queue_after_undo(anna, ben):
    item = waiting()
    mark(item, anna)
    made = mark(item, ben, "incorrect")
    assert label(item) == (0.5, "step_mark")
    marks.undo(mark_id=made.pk, by=ben, now=NOW)
    assert not QueueItem.objects.exists()
    assert label(item) == (1.0, "step_mark")


def test_a_mark_on_the_run_tags_its_waiting_steps_and_undo_takes_the_tag_away(anna):
    run = factories.run()
    plain, failed, other = waiting("a", of=run), waiting("b", of=run, check_failed=True), waiting("c")
    made = marks.mark_run(run_id=run.id, by=anna, outcome="incorrect", via="page", now=NOW)
    tags = dict(QueueItem.objects.values_list("pk", "label_source"))
    assert tags == {plain.pk: "run_mark", failed.pk: "failed_check", other.pk: ""}
    assert made.was_blind is False
    marks.undo(mark_id=made.pk, by=anna, now=NOW)
    assert QueueItem.objects.get(pk=plain.pk).label_source == ""
    assert differences(list(Sample.objects.all())) == []


def test_there_must_be_a_run_to_mark(anna):
    with pytest.raises(marks.NoSuchRun):
        marks.mark_run(run_id=uuid.uuid4(), by=anna, outcome="correct", via="page", now=NOW)


def test_a_second_opinion_is_asked_of_somebody_else(anna, ben, service):
    service(marking={"second_opinion_share": 1.0})
    item = waiting()
    offers.take(step_id=item.pk, by=anna, now=NOW)
    mark(item, anna)
    item.refresh_from_db()
    assert (item.first_marker, item.label_source, item.held_by) == (anna, "step_mark", None)
    with pytest.raises(NotWaiting):
        offers.take(step_id=item.pk, by=anna, now=NOW)
    offers.take(step_id=item.pk, by=ben, now=NOW)
    mark(item, anna, "incorrect")
    assert QueueItem.objects.exists(), "a change of mind is no second opinion"
    second = mark(item, ben)
    assert not QueueItem.objects.exists()
    marks.undo(mark_id=second.pk, by=ben, now=NOW)
    assert QueueItem.objects.get().first_marker == anna
    marks.undo(mark_id=Mark.objects.get(by=anna, is_current=True).pk, by=anna, now=NOW)
    assert QueueItem.objects.get().first_marker == anna, "the mark before the change of mind stands again"


def test_a_replay_stays_tagged_whatever_becomes_of_its_mark(anna):
    item = waiting(is_replay=True)
    assert item.is_replay
    marks.undo(mark_id=mark(item, anna).pk, by=anna, now=NOW)
    assert QueueItem.objects.get().is_replay


def test_a_share_of_the_steps_is_chosen_for_a_second_opinion():
    ids = [uuid.UUID(int=n) for n in range(10_000)]
    chosen = [one for one in ids if chance.wants_second_opinion(one, 0.1)]
    # 1,000 expected; 30 is one standard deviation.
    assert 850 < len(chosen) < 1_150
    assert set(chosen) < {one for one in ids if chance.wants_second_opinion(one, 0.2)}
    assert not any(chance.wants_second_opinion(one, 0) for one in ids)
    assert all(chance.wants_second_opinion(one, 1) for one in ids)


def test_the_random_order_does_not_prefer_what_is_marked_twice():
    ids = [uuid.UUID(int=n) for n in range(10_000)]
    first = sorted(ids, key=chance.place)[:1_000]
    twice = sum(chance.wants_second_opinion(one, 0.5) for one in first)
    # 500 expected; 16 is one standard deviation.
    assert 420 < twice < 580


def test_skipping_what_does_not_wait_changes_nothing(anna):
    marks.skip(step_id=uuid.uuid4(), by=anna, now=NOW)
    assert not QueueSkip.objects.exists()


def test_skipping_twice_is_one_skip(anna):
    item = waiting()
    for _ in range(2):
        marks.skip(step_id=item.pk, by=anna, now=NOW)
    assert QueueSkip.objects.count() == 1


def test_a_mark_costs_the_same_queries_whatever_waits(anna, django_assert_max_num_queries):
    items = [waiting() for _ in range(5)]
    with django_assert_max_num_queries(18):
        mark(items[2], anna)
