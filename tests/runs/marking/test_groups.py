"""What waits, by pipeline and step, and the numbers above the list."""

import datetime as dt

import pytest

from runs.marking import groups
from runs.marking.counting import Count
from runs.marking.filters import QueueFilters
from runs.marking.marks import mark_step
from tests import factories
from tests.factories import NOW
from tests.runs.marking.waiting import waiting

pytestmark = pytest.mark.django_db


ALL = QueueFilters()


def shown(by, filters=ALL, **given):
    page = groups.groups(filters, by=by, now=NOW, **given)
    return [(row.pipeline, row.step, str(row.waiting)) for row in page.rows]


def test_an_empty_queue(anna):
    assert shown(anna) == []
    assert groups.cards() == groups.Cards(0, Count(0), Count(0), None, 0)


def test_branches_stand_under_their_group(anna):
    run = factories.run(pipeline_name="b")
    for name, minutes in (("look/0", 5), ("look/1", 15), ("decide", 10)):
        waiting(name, of=run, minutes_ago=minutes)
    waiting("look/1", pipeline_name="b", minutes_ago=7)
    waiting("look", pipeline_name="a")
    assert shown(anna) == [("a", "look", "1"), ("b", "decide", "1"), ("b", "look", "3")]
    look = groups.groups(QueueFilters(), by=anna, now=NOW).rows[2]
    assert [(branch.name, branch.waiting.n) for branch in look.branches] == [("look/0", 1), ("look/1", 2)]
    assert look.oldest_at == NOW - dt.timedelta(minutes=15)


@pytest.mark.parametrize("filters", [QueueFilters(), QueueFilters(stage="production")])
def test_pages_end_where_the_next_begins(anna, monkeypatch, filters):
    monkeypatch.setattr(groups, "PAGE", 2)
    for pipeline, step in (("a", "one"), ("a", "two"), ("b", "one"), ("c", "one"), ("c", "two")):
        waiting(step, pipeline_name=pipeline)
    seen, after = [], None
    for _ in range(3):
        page = groups.groups(filters, by=anna, now=NOW, after=after)
        seen.append([(row.pipeline, row.step) for row in page.rows])
        after = page.after
    assert seen == [[("a", "one"), ("a", "two")], [("b", "one"), ("c", "one")], [("c", "two")]]
    assert after is None


@pytest.mark.parametrize(
    ("filters", "steps"),
    [
        ({"pipeline": "a"}, ["one", "two"]),
        ({"pipeline": "a", "step": "two"}, ["two"]),
        ({"step": "one"}, ["one", "one"]),
        ({"agent": "command:other"}, ["two"]),
        ({"team": "ops"}, ["one"]),
        ({"stage": "testing"}, ["one"]),
        ({"label": "failed_check"}, ["two"]),
        ({"label": "none"}, ["one", "one"]),
        ({"age": "24h"}, ["one", "one"]),
        ({"age": "older"}, ["two"]),
        ({"pipeline": "b", "agent": "command:other"}, []),
    ],
)
def test_filters(anna, filters, steps):
    waiting("one", pipeline_name="a", stage="testing")
    waiting("two", pipeline_name="a", agent="command:other", check_failed=True, minutes_ago=31 * 24 * 60)
    waiting("one", pipeline_name="b", team="ops")
    assert [step for _, step, _ in shown(anna, QueueFilters(**filters))] == steps


@pytest.mark.parametrize("filters", [QueueFilters(), QueueFilters(stage="production")])
def test_counts_are_exact_up_to_a_limit_that_is_shown(anna, monkeypatch, filters):
    monkeypatch.setattr(groups, "GROUP_CAP", 3)
    monkeypatch.setattr(groups, "CARD_CAP", 3)
    run = factories.run(pipeline_name="a")
    for number in range(3):
        waiting(f"look/{number}", of=run)
    assert shown(anna, filters) == [("a", "look", "3")]
    assert str(groups.cards().steps) == "3"
    waiting("look/3", of=run)
    assert shown(anna, filters) == [("a", "look", "3+")]
    assert str(groups.cards().steps) == "3+"
    assert str(groups.cards().runs) == "1"


def test_a_list_that_is_not_complete_says_so(anna, monkeypatch):
    monkeypatch.setattr(groups, "WINDOW", 3)
    for minutes in (30, 20):
        waiting("old", minutes_ago=minutes)
    filters = QueueFilters(stage="production")
    assert groups.groups(filters, by=anna, now=NOW).among is None
    waiting("new", minutes_ago=1)
    waiting("newer", minutes_ago=0)
    page = groups.groups(filters, by=anna, now=NOW)
    assert [(row.step, str(row.waiting)) for row in page.rows] == [("new", "1+"), ("old", "2+")]
    assert page.among == 3
    assert groups.groups(QueueFilters(), by=anna, now=NOW).among is None


def test_the_share_of_the_newest_steps_that_people_marked(anna):
    items = [waiting(check_failed=n == 0) for n in range(4)]
    mark_step(step_id=items[1].pk, by=anna, outcome="partial", was_blind=True, via="queue", now=NOW)
    cards = groups.cards()
    assert (cards.coverage, cards.coverage_of) == (0.25, 4)
    assert (cards.pipelines, cards.runs.n, cards.steps.n) == (1, 3, 3)


def test_what_one_has_marked_waits_for_others_only(anna, ben, service):
    service(marking={"second_opinion_share": 1.0})
    item = waiting("one")
    mark_step(step_id=item.pk, by=anna, outcome="correct", was_blind=True, via="queue", now=NOW)
    assert shown(anna) == []
    assert [step for _, step, _ in shown(ben)] == ["one"]


def test_a_page_costs_the_same_queries_whatever_waits(anna, django_assert_num_queries):
    for n in range(12):
        waiting(f"step{n}", pipeline_name=f"p{n % 3}")
    with django_assert_num_queries(1):
        groups.groups(QueueFilters(), by=anna, now=NOW)
    with django_assert_num_queries(1):
        groups.groups(QueueFilters(team="payments"), by=anna, now=NOW)
    with django_assert_num_queries(4):
        groups.cards()
