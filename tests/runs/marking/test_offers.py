"""Which step a marker is given, in which order, and that it is theirs alone."""

import datetime as dt
import uuid

import pytest

from calibration.models import Order
from runs.marking import lines, offers
from runs.marking.filters import ORDERS, QueueFilters
from runs.marking.holds import HeldByColleague, NotWaiting
from runs.marking.marks import mark_step, skip
from runs.models import QueueItem
from tests.factories import NOW
from tests.runs.marking.waiting import waiting

pytestmark = pytest.mark.django_db
ALL = QueueFilters()


def next_of(by, order=Order.OLDEST, filters=ALL, now=NOW, **given):
    offer = offers.next_item(by=by, order=order, filters=filters, now=now, **given)
    return offer and offer.item


def mark(item, by, outcome="correct", **given):
    fields = {"was_blind": True, "via": "queue", "now": NOW} | given
    return mark_step(step_id=item.step_id, by=by, outcome=outcome, **fields)


def test_an_empty_queue_offers_nothing(anna):
    assert [next_of(anna, order) for order in ORDERS] == [None] * 4


def test_oldest_and_newest(anna):
    middle, old, young = waiting(minutes_ago=20), waiting(minutes_ago=30), waiting(minutes_ago=10)
    assert next_of(anna) == old
    assert next_of(anna, Order.NEWEST) == young
    assert next_of(anna, after=old.step_id) == middle
    assert next_of(anna, Order.NEWEST, after=young.step_id) == middle


def test_random_goes_by_the_draw_alone(anna):
    items = [waiting(minutes_ago=n) for n in range(6)]
    drawn = sorted(items, key=lambda item: item.shuffle)
    left, seen = None, []
    for _ in items:
        item = next_of(anna, Order.RANDOM, after=left)
        seen.append(item)
        left = item.step_id
    assert seen == drawn


@pytest.mark.parametrize("bands", [1, 2, 1 << 30])
@pytest.mark.parametrize("filters", [{"team": "ops"}, {"step": "look", "stage": "production"}, {"label": "none"}])
def test_random_under_a_filter_keeps_the_draw_however_far_the_next_match_is(anna, monkeypatch, bands, filters):
    monkeypatch.setattr(lines, "BANDS", bands)
    items = [waiting("look/1", team="ops") for _ in range(6)]
    for _ in range(6):
        waiting("other", team="shop", stage="testing", check_failed=True)
    drawn = sorted(items, key=lambda item: item.shuffle)
    seen, left = [], None
    for _ in items:
        seen.append(next_of(anna, Order.RANDOM, QueueFilters(**filters), after=left))
        left = seen[-1].pk
    assert seen == drawn
    assert next_of(anna, Order.RANDOM, QueueFilters(**filters), after=left) == drawn[0]
    assert next_of(anna, Order.RANDOM, QueueFilters(**filters), before=drawn[0].pk) == drawn[-1]
    assert next_of(anna, Order.RANDOM, QueueFilters(**filters), before=drawn[-1].pk) == drawn[-2]


def test_what_one_marker_holds_is_offered_to_no_other_until_its_time_is_over(anna, ben):
    first, second = waiting(minutes_ago=20), waiting(minutes_ago=10)
    assert next_of(anna) == first
    assert next_of(ben) == second
    assert next_of(anna) == first, "one's own is offered again"
    later = NOW + dt.timedelta(minutes=10)
    assert next_of(ben, now=later - dt.timedelta(seconds=1)) == second
    assert next_of(ben, now=later) == first


def test_moving_on_frees_what_was_left(anna, ben):
    first, second = waiting(minutes_ago=20), waiting(minutes_ago=10)
    next_of(anna)
    assert next_of(anna, after=first.step_id) == second
    assert next_of(ben) == first


def test_after_the_last_the_line_starts_again_and_before_goes_back(anna):
    first, second, third = (waiting(minutes_ago=n) for n in (30, 20, 10))
    assert next_of(anna, after=third.step_id) == first
    assert next_of(anna, before=third.step_id) == second
    assert next_of(anna, before=first.step_id) == third


def test_the_only_one_follows_itself_and_stays_held(anna, ben):
    only = waiting()
    assert next_of(anna, after=next_of(anna).step_id) == only
    assert next_of(ben) is None


def test_the_line_goes_on_behind_a_step_that_was_marked_meanwhile(anna):
    waiting(minutes_ago=30)
    second, third = waiting(minutes_ago=20), waiting(minutes_ago=10)
    mark(second, anna)
    assert next_of(anna, after=second.step_id) == third


def test_a_skipped_step_comes_back_only_when_nothing_else_is_left(anna, ben):
    first, second = waiting(minutes_ago=20), waiting(minutes_ago=10)
    next_of(anna)
    skip(step_id=first.step_id, by=anna, now=NOW)
    assert next_of(ben) == first, "skipping frees it for others"
    mark(first, ben)
    offers.release(step_id=first.step_id, by=ben)
    third = waiting(minutes_ago=40)
    skip(step_id=third.step_id, by=anna, now=NOW)
    skip(step_id=second.step_id, by=anna, now=NOW + dt.timedelta(seconds=1))
    offer = offers.next_item(by=anna, order=Order.OLDEST, filters=ALL, now=NOW)
    assert offer.item == third
    assert offer.reason == offers.SKIPPED


def test_an_address_gives_its_own_step_again(anna, ben):
    item = waiting()
    offer = offers.take(step_id=item.step_id, by=anna, now=NOW)
    assert offer.held_until == NOW + dt.timedelta(minutes=10)
    with pytest.raises(HeldByColleague) as held:
        offers.take(step_id=item.step_id, by=ben, now=NOW)
    assert held.value.until == offer.held_until
    mark(item, anna)
    for person, step_id in ((anna, item.step_id), (ben, item.step_id), (ben, uuid.uuid4())):
        with pytest.raises(NotWaiting):
            offers.take(step_id=step_id, by=person, now=NOW)


def test_releasing_what_somebody_else_holds_changes_nothing(anna, ben):
    item = waiting()
    offers.take(step_id=item.step_id, by=anna, now=NOW)
    offers.release(step_id=item.step_id, by=ben)
    assert QueueItem.objects.get().held_by == anna
    offers.release(step_id=item.step_id, by=anna)
    assert next_of(ben) == item


def test_what_remains(anna, ben, service):
    service(marking={"hold_minutes": 4})
    items = [waiting(minutes_ago=n) for n in (30, 20, 10)]
    nothing = offers.remaining(QueueFilters(stage="testing"), ben, NOW)
    assert (nothing.free.n, nothing.held_by_others, nothing.next_free_at) == (0, 0, None)
    offers.take(step_id=items[0].step_id, by=anna, now=NOW)
    offers.take(step_id=items[1].step_id, by=anna, now=NOW + dt.timedelta(minutes=1))
    skip(step_id=items[2].step_id, by=ben, now=NOW)
    left = offers.remaining(ALL, ben, NOW + dt.timedelta(minutes=2))
    assert (left.free.n, left.skipped.n, left.held_by_others) == (1, 1, 2)
    assert left.next_free_at == NOW + dt.timedelta(minutes=4)
    hers = offers.remaining(ALL, anna, NOW)
    assert (hers.free.n, hers.held_by_others, hers.next_free_at) == (3, 0, None)
    later = offers.remaining(ALL, ben, NOW + dt.timedelta(minutes=5))
    assert (later.free.n, later.held_by_others, later.next_free_at) == (3, 0, None), "what they held is free again"
