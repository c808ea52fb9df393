"""Several markers at once, each on a connection of its own."""

import datetime as dt
import threading

import pytest

from calibration.labels import differences
from calibration.models import Mark, Order, Sample
from runs.marking import bulk, marks, offers
from runs.marking.filters import ORDERS, QueueFilters
from runs.models import QueueItem
from tests import factories
from tests.at_once import at_once
from tests.factories import NOW
from tests.runs.marking.waiting import waiting

pytestmark = pytest.mark.django_db(transaction=True)
ALL = QueueFilters()


def mark(step_id, by, outcome="correct"):
    return marks.mark_step(step_id=step_id, by=by, outcome=outcome, was_blind=True, via="queue", now=NOW)


@pytest.mark.parametrize("order", ORDERS)
def test_two_markers_never_get_the_same_step(order):
    people = [factories.user(role="marker") for _ in range(12)]
    for minutes in range(12):
        waiting(minutes_ago=minutes)
    given, lock = [], threading.Lock()

    def ask(person):
        offer = offers.next_item(by=person, order=order, filters=ALL, now=NOW)
        with lock:
            given.append(offer and offer.step_id)

    at_once(*[lambda who=who: ask(who) for who in people])
    assert None not in given
    assert len(set(given)) == 12
    assert dict(QueueItem.objects.filter(held_by__isnull=False).values_list("held_by", "step_id")).keys() == {
        person.pk for person in people
    }


def test_markers_who_work_through_the_queue_together_mark_every_step_once():
    people = [factories.user(role="marker") for _ in range(3)]
    items = {waiting(minutes_ago=minutes).pk for minutes in range(18)}

    def work(person):
        while offer := offers.next_item(by=person, order=Order.OLDEST, filters=ALL, now=NOW):
            mark(offer.step_id, person)

    at_once(*[lambda who=who: work(who) for who in people])
    assert sorted(Mark.objects.values_list("sample_id", flat=True)) == sorted(items)
    assert not QueueItem.objects.exists()


def test_a_mark_sent_six_times_at_once_is_one_mark(anna):
    step_id = waiting().pk
    at_once(*[lambda: mark(step_id, anna)] * 6)
    assert Mark.objects.get().is_current
    assert not QueueItem.objects.exists()


def test_marks_undos_skips_and_marks_on_the_run_at_once_leave_queue_and_labels_right(anna, ben, service):
    service(marking={"second_opinion_share": 0.5})
    run = factories.run()
    ids = [waiting(name, of=run).pk for name in "abcdef"]

    def change_mind(person):
        for step_id in ids:
            made = mark(step_id, person)
            marks.undo(mark_id=made.pk, by=person, now=NOW)
            mark(step_id, person, "incorrect")

    def run_marks():
        for outcome in ("correct", "partial", "incorrect"):
            marks.mark_run(run_id=run.id, by=anna, outcome=outcome, via="page", now=NOW)

    def skips():
        for step_id in ids:
            marks.skip(step_id=step_id, by=anna, now=NOW)
            offers.next_item(by=ben, order=Order.OLDEST, filters=ALL, now=NOW)

    at_once(lambda: change_mind(anna), lambda: change_mind(ben), run_marks, skips)
    assert differences(list(Sample.objects.all())) == []
    assert set(Sample.objects.values_list("label", "label_source")) == {(0.0, "step_mark")}
    assert not QueueItem.objects.exists()


def test_a_bulk_mark_and_a_colleague_at_the_same_step_never_both_believe_they_had_it(anna, ben):
    for _ in range(4):
        items = [waiting() for _ in range(5)]
        asked, outcome = bulk.ask(ALL, by=anna, now=NOW), []

        def all_of_them(asked=asked, outcome=outcome):
            try:
                given = {"digest": asked.digest, "until": asked.until, "outcome": "correct"}
                outcome.append(bulk.confirm(ALL, **given, by=anna, was_blind=True, now=NOW).count)
            except bulk.SelectionChanged as changed:
                outcome.append(changed.now.count)

        def one(items=items):
            mark(items[2].pk, ben)

        at_once(all_of_them, one)
        marked = Mark.objects.filter(by=anna, sample_id__in=[item.pk for item in items]).count()
        # All five before ben's mark, or none after it with four left to ask about.
        assert (marked, outcome) in ((5, [5]), (0, [4]))
        QueueItem.objects.all().delete()


def test_a_hold_that_ran_out_goes_to_exactly_one(anna):
    waiting()
    offers.next_item(by=anna, order=Order.OLDEST, filters=ALL, now=NOW)
    later, given = NOW + dt.timedelta(minutes=11), []
    people = [factories.user(role="marker") for _ in range(4)]
    at_once(
        *[
            lambda who=who: given.append(offers.next_item(by=who, order=Order.OLDEST, filters=ALL, now=later))
            for who in people
        ]
    )
    assert sum(offer is not None for offer in given) == 1
