"""The queue's address: understood whole, or refused with what is allowed."""

import pytest
from django.http import QueryDict

from calibration.models import Order
from runs.filtering import BadFilter
from runs.marking import filters, names
from runs.marking.filters import QueueFilters
from runs.marking.marks import mark_step
from runs.models import QueueItem
from tests.factories import NOW
from tests.runs.marking.waiting import waiting

KNOWN = names.Known(pipelines=["checkout"], steps=["look", "decide"], agents=["command:a"], teams=["ops"])


def parse(text):
    return filters.parse(QueryDict(text), lambda: KNOWN)


def test_everything_at_once():
    text = "pipeline=checkout&step=look&agent=command:a&team=ops&stage=testing&label=none&age=7d"
    found = parse(text)
    assert found == QueueFilters("checkout", "look", "command:a", "ops", "testing", "none", "7d")
    assert "&".join(f"{name}={value}" for name, value in found.chosen().items()) == text


@pytest.mark.parametrize("text", ["", "pipeline=&stage="])
def test_nothing_is_everything(text):
    assert parse(text) == QueueFilters()
    assert QueueFilters().chosen() == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stage=prod", "stage “prod” is not known. Allowed: testing, production."),
        ("label=marked", "label “marked” is not known. Allowed: none, failed_check, run_mark, step_mark."),
        ("age=1d", "age “1d” is not known. Allowed: 24h, 7d, 30d, older."),
        ("team=op", "team “op” is not known. Allowed: ops."),
        ("step=look/0", "step “look/0” is not known. Allowed: look, decide."),
    ],
)
def test_a_typo_is_refused_with_what_is_allowed(text, said):
    with pytest.raises(BadFilter) as refused:
        parse(text)
    assert str(refused.value).startswith(said)


def test_every_problem_is_told_at_once():
    with pytest.raises(BadFilter) as refused:
        parse("stage=prod&age=1d")
    assert len(refused.value.problems) == 2


def test_orders():
    assert filters.parse_order(QueryDict("")) is Order.OLDEST
    assert filters.parse_order(QueryDict("order=useful")) is Order.USEFUL
    with pytest.raises(BadFilter) as refused:
        filters.parse_order(QueryDict("order=best"))
    assert str(refused.value) == "order “best” is not known. Allowed: oldest, newest, useful, random."


@pytest.mark.django_db
def test_each_age_holds_its_very_edge_and_older_begins_behind_it():
    day = 24 * 60
    for minutes in (day, day + 1, 7 * day, 7 * day + 1, 30 * day, 30 * day + 1):
        waiting(minutes_ago=minutes)
    found = {age: QueueFilters(age=age).apply(QueueItem.objects.all(), now=NOW).count() for age in filters.AGES}
    assert found == {"24h": 1, "7d": 3, "30d": 5, "older": 1}


@pytest.mark.django_db
def test_names_are_looked_up_only_where_they_are_asked_for_and_at_once(django_assert_num_queries):
    with django_assert_num_queries(0):
        filters.parse(QueryDict("stage=testing&label=none&age=7d"))
    with django_assert_num_queries(1), pytest.raises(BadFilter):
        filters.parse(QueryDict("pipeline=a&step=b&agent=c&team=d"))


@pytest.mark.django_db
def test_names_stay_known_when_their_last_step_is_marked(anna):
    item = waiting("look/0", pipeline_name="checkout", team="ops", agent="command:a")
    waiting("decide", pipeline_name="api", team="", agent="command:b")
    mark_step(step_id=item.pk, by=anna, outcome="correct", was_blind=True, via="queue", now=NOW)
    expected = names.Known(["api", "checkout"], ["decide", "look"], ["command:a", "command:b"], ["ops"])
    assert names.known() == expected
    assert filters.parse(QueryDict("step=look")) == QueueFilters(step="look")


@pytest.mark.django_db
def test_no_names_in_an_empty_database():
    assert names.known() == names.Known([], [], [], [])
