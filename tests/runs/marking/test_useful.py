"""Most useful first: the bin closest to being believed, then the one whose accuracy is least sure."""

import datetime as dt

import pytest

from calibration.models import Order
from runs.marking import offers, useful
from runs.marking.filters import QueueFilters
from runs.marking.marks import mark_step, skip
from runs.marking.useful import Need
from tests.factories import NOW
from tests.runs.marking.waiting import waiting

ALL = QueueFilters()


def need(n, width=1.0, n_min=20):
    return Need(0.9, 1.0, n, n_min, width)


def test_what_lacks_one_mark_comes_before_what_lacks_many_and_both_before_what_lacks_none():
    ranked = sorted([need(25, 0.3), need(0), need(19, 0.4), need(20, 0.4), need(5)], key=lambda one: one.rank)
    assert [one.n for one in ranked] == [19, 5, 0, 20, 25]


def test_of_those_that_lack_equally_many_the_least_sure_comes_first():
    ranked = sorted([need(10, 0.2), need(10, 0.5), need(40, 0.1), need(30, 0.2)], key=lambda one: one.rank)
    assert [(one.n, one.width) for one in ranked] == [(10, 0.5), (10, 0.2), (30, 0.2), (40, 0.1)]


@pytest.mark.parametrize(
    ("one", "blind", "revealed"),
    [
        (
            need(19),
            "There are 19 labels for answers as sure as this one, and it takes 20 to believe them.",
            "There are 19 labels for answers of 90% to 100% confidence, and it takes 20 to believe them.",
        ),
        (
            need(1),
            "There is 1 label for answers as sure as this one, and it takes 20 to believe them.",
            "There is 1 label for answers of 90% to 100% confidence, and it takes 20 to believe them.",
        ),
        (
            need(0),
            "There are no labels for answers as sure as this one, and it takes 20 to believe them.",
            "There are no labels for answers of 90% to 100% confidence, and it takes 20 to believe them.",
        ),
        (
            need(30, 0.325),
            "There are 30 labels for answers as sure as this one, which leave 32 points between the bounds of their "
            "accuracy.",
            "There are 30 labels for answers of 90% to 100% confidence, which leave 32 points between the bounds of "
            "their accuracy.",
        ),
    ],
)
def test_the_reason_says_the_bin_only_to_those_who_may_see_it(one, blind, revealed):
    assert one.reason == blind
    assert one.bin_reason == revealed


def mark(item, by):
    mark_step(step_id=item.pk, by=by, outcome="correct", was_blind=True, via="queue", now=NOW)


def next_of(by, **given):
    return offers.next_item(by=by, order=Order.USEFUL, filters=ALL, now=NOW, **given)


@pytest.fixture
def line(anna, service):
    """n_min is 3; the bin of 0.9 has two labels, that of 0.5 one, that of 0.1 three: in this order they are useful."""
    service(calibration={"n_min": 3})
    for confidence, labels in ((0.95, 2), (0.55, 1), (0.15, 3)):
        for _ in range(labels):
            mark(waiting(confidence=confidence), anna)
    return [
        waiting(confidence=0.95, minutes_ago=30),
        waiting(confidence=0.95, minutes_ago=40),
        waiting(confidence=0.55, minutes_ago=50),
        waiting(confidence=0.15, minutes_ago=10),
    ]


@pytest.mark.django_db
def test_the_order_and_its_reason(anna, line):
    offer = next_of(anna)
    assert offer.item == line[0]
    assert (
        offer.bin_reason == "There are 2 labels for answers of 90% to 100% confidence, and it takes 3 to believe them."
    )
    seen, left = [], None
    for _ in line:
        seen.append(next_of(anna, after=left).item)
        left = seen[-1].pk
    assert seen == line
    assert next_of(anna, after=left).item == line[0]
    assert next_of(anna, before=line[0].pk).item == line[3]


@pytest.mark.django_db
@pytest.mark.parametrize(("evidence", "n"), [("all", 1), ("production", 0)])
def test_only_labels_that_the_gate_counts_are_counted(anna, service, evidence, n):
    service(calibration={"evidence": evidence})
    mark(waiting(stage="testing"), anna)
    assert useful.need_of(waiting()).n == n


@pytest.mark.django_db
def test_a_mark_counts_in_the_next_offer(anna, line):
    mark(line[0], anna)
    # The bin of 0.9 has its three now; that of 0.5 lacks two.
    assert next_of(anna, after=line[0].pk).item == line[2]


@pytest.mark.django_db
def test_a_skipped_step_does_not_come_back_with_every_mark(anna, line):
    skip(step_id=line[0].pk, by=anna, now=NOW)
    assert next_of(anna, after=line[0].pk).item == line[1]
    mark(line[3], anna)
    assert next_of(anna, after=line[3].pk).item == line[1]


@pytest.mark.django_db
def test_what_a_colleague_holds_is_passed_over(anna, ben, line):
    assert [next_of(person).item for person in (anna, ben)] == line[:2]


@pytest.mark.django_db
def test_only_bins_that_recent_steps_fall_into_take_part(anna, line, monkeypatch):
    monkeypatch.setattr(useful, "NEWEST", 1)
    assert next_of(anna).item == line[3]


@pytest.mark.django_db
def test_filters_hold_for_it_too(anna, line):
    testing = waiting(confidence=0.55, stage="testing", minutes_ago=5)
    offer = offers.next_item(by=anna, order=Order.USEFUL, filters=QueueFilters(stage="testing"), now=NOW)
    assert offer.item == testing
    assert offer.held_until == NOW + dt.timedelta(minutes=10)


@pytest.mark.django_db
def test_the_queries_do_not_depend_on_how_many_bins_there_are(anna, django_assert_max_num_queries):
    for number in range(10):
        waiting(f"step{number}", confidence=number / 10)
    with django_assert_max_num_queries(7):
        next_of(anna)
