"""Marking a whole selection: exactly what was asked about, or nothing."""

import datetime as dt

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from calibration.labels import NoSuchSample, differences, mark_samples
from calibration.models import Mark, Sample
from runs.marking import bulk, offers
from runs.marking.filters import QueueFilters
from runs.marking.marks import mark_step
from runs.models import QueueItem
from tests.factories import NOW
from tests.runs.marking.waiting import waiting

pytestmark = pytest.mark.django_db
LOOK = QueueFilters(step="look")


def confirm(asked, by, filters=LOOK, **given):
    fields = {"outcome": "correct", "was_blind": True, "now": NOW} | given
    return bulk.confirm(filters, digest=asked.digest, until=asked.until, by=by, **fields).count


def test_it_marks_exactly_the_selection(anna):
    chosen, other = [waiting("look", minutes_ago=n) for n in (1, 2, 3)], waiting("decide")
    asked = bulk.ask(LOOK, by=anna, now=NOW)
    assert (asked.count, asked.is_all) == (3, True)
    assert confirm(asked, anna, note="all of them", outcome="incorrect") == 3
    assert set(Mark.objects.values_list("sample_id", flat=True)) == {item.pk for item in chosen}
    assert set(Mark.objects.values_list("outcome", "note", "via", "was_blind", "offered_by")) == {
        ("incorrect", "all of them", "bulk", True, "")
    }
    assert list(QueueItem.objects.all()) == [other]
    assert differences(list(Sample.objects.all())) == []


def test_what_finishes_between_asking_and_confirming_is_left_alone(anna):
    waiting("look")
    asked = bulk.ask(LOOK, by=anna, now=NOW)
    late = waiting("look", minutes_ago=-1)
    assert confirm(asked, anna, now=NOW + dt.timedelta(minutes=2)) == 1
    assert list(QueueItem.objects.all()) == [late]


def test_what_finishes_the_moment_one_asks_is_asked_about(anna):
    waiting("look", minutes_ago=0)
    asked = bulk.ask(LOOK, by=anna, now=NOW)
    assert (asked.count, confirm(asked, anna)) == (1, 1)


def test_a_window_of_time_does_not_move_between_asking_and_confirming(anna):
    filters = QueueFilters(age="24h")
    waiting("look", minutes_ago=24 * 60 - 1)
    asked = bulk.ask(filters, by=anna, now=NOW)
    assert confirm(asked, anna, filters, now=NOW + dt.timedelta(minutes=5)) == 1


@pytest.mark.parametrize("happening", ["marked", "taken"])
def test_it_refuses_when_a_colleague_was_faster_and_says_what_is_left(anna, ben, happening):
    items = [waiting("look") for _ in range(3)]
    asked = bulk.ask(LOOK, by=anna, now=NOW)
    if happening == "marked":
        mark_step(step_id=items[0].pk, by=ben, outcome="correct", was_blind=True, via="page", now=NOW)
    else:
        offers.take(step_id=items[0].pk, by=ben, now=NOW)
    with pytest.raises(bulk.SelectionChanged) as changed:
        confirm(asked, anna)
    assert changed.value.now.count == 2
    assert not Mark.objects.filter(by=anna).exists()
    assert confirm(changed.value.now, anna) == 2


def test_the_number_alone_does_not_make_it_the_same_set(anna, ben):
    first, _ = waiting("look"), waiting("look")
    asked = bulk.ask(LOOK, by=anna, now=NOW)
    mark_step(step_id=first.pk, by=ben, outcome="correct", was_blind=True, via="page", now=NOW)
    waiting("look", minutes_ago=5)
    assert bulk.ask(LOOK, by=anna, now=NOW).count == asked.count
    with pytest.raises(bulk.SelectionChanged):
        confirm(asked, anna)


def test_a_forged_digest_marks_nothing(anna):
    waiting("look")
    asked = bulk.Selection(1, True, "0" * 64, NOW)
    with pytest.raises(bulk.SelectionChanged):
        confirm(asked, anna)


def test_confirming_twice_is_refused_with_nothing_left(anna):
    waiting("look")
    asked = bulk.ask(LOOK, by=anna, now=NOW)
    confirm(asked, anna)
    with pytest.raises(bulk.SelectionChanged) as changed:
        confirm(asked, anna)
    assert changed.value.now.count == 0
    assert Mark.objects.count() == 1


def test_more_than_one_go_may_mark_are_marked_in_several_the_oldest_first(anna, monkeypatch):
    monkeypatch.setattr(bulk, "LIMIT", 2)
    old, older, young = waiting("look", minutes_ago=8), waiting("look", minutes_ago=9), waiting("look", minutes_ago=1)
    asked = bulk.ask(LOOK, by=anna, now=NOW)
    assert (asked.count, asked.is_all) == (2, False)
    assert confirm(asked, anna) == 2
    assert {mark.sample_id for mark in Mark.objects.all()} == {old.pk, older.pk}
    assert list(QueueItem.objects.all()) == [young]
    waiting("look")
    assert bulk.ask(LOOK, by=anna, now=NOW).is_all, "as many as go at once are all there are"


def test_an_unknown_outcome_marks_nothing(anna):
    waiting("look")
    asked = bulk.ask(LOOK, by=anna, now=NOW)
    with pytest.raises(ValueError, match="outcome"):
        confirm(asked, anna, outcome="fine")
    assert QueueItem.objects.count() == 1


def test_the_queries_do_not_depend_on_how_many(anna):
    counts = []
    for many in (1, 12):
        for _ in range(many):
            waiting("look")
        asked = bulk.ask(LOOK, by=anna, now=NOW)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert confirm(asked, anna) == many
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_marks_of_many_samples_are_all_or_none_and_keep_what_stands(anna):
    one, two = waiting("look"), waiting("look")
    first = mark_step(step_id=one.pk, by=anna, outcome="correct", was_blind=True, via="queue", now=NOW)
    other = mark_step(step_id=two.pk, by=anna, outcome="incorrect", was_blind=True, via="queue", now=NOW)
    said = {"by": anna, "outcome": "correct", "via": "bulk", "now": NOW}
    with pytest.raises(NoSuchSample):
        mark_samples(sample_ids=[one.pk, waiting("look").run_id], **said)
    made = mark_samples(sample_ids=[one.pk, two.pk], **said)
    assert [mark.sample_id for mark in made] == [two.pk]
    assert list(Mark.objects.filter(is_current=True).order_by("id")) == [first, *made]
    assert not Mark.objects.get(pk=other.pk).is_current
