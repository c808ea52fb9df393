"""The list of agents."""

from datetime import timedelta

import pytest

from insights.agents import agent_names, agents
from tests.calibration.factories import NOW
from tests.insights.versions import AGENT, agent, answers, key

pytestmark = pytest.mark.django_db


def test_without_answers_there_are_no_agents():
    assert agent_names() == []
    assert agents([]) == []


def test_the_one_that_ran_last_comes_first():
    answers(key(agent="command:old"), unmarked=1, at=NOW - timedelta(days=9))
    answers(key(agent="command:new"), unmarked=1, at=NOW)
    agent("v1", days_ago=5, name="gateway:told")  # told a version, last seen four days ago, never answered
    assert [name for name, _ in agent_names()] == ["command:new", "gateway:told", "command:old"]


def test_an_agent_with_its_steps_version_and_record():
    agent("v1", days_ago=9)
    agent("v2", days_ago=2)
    answers(key(agent_version="v1"), right=1, at=NOW - timedelta(days=9))
    answers(key(agent_version="v2", step="close"), right=2, wrong=1)
    (found,) = agents(agent_names())
    assert (found.name, found.executor, found.version, found.versions) == (AGENT, "gateway", "v2", 2)
    assert (found.steps, found.labelled, found.record.value) == (["close", "triage"], 4, 0.75)
    assert found.last_seen == NOW


def test_versions_that_only_an_import_names_are_counted():
    for version in ("v1", "v2"):
        answers(key(agent_version=version), right=1)
    (found,) = agents(agent_names())
    assert (found.version, found.versions) == ("", 2)


def test_an_agent_that_tells_no_version_has_none():
    answers(key(agent="plain", agent_version=""), unmarked=1)
    (found,) = agents(agent_names())
    assert (found.executor, found.version, found.versions, found.record.value) == ("", "", 0, None)


def test_the_queries_do_not_grow_with_the_agents(django_assert_num_queries):
    for number in range(10):
        answers(key(agent=f"command:{number}"), right=1)
        agent("v1", days_ago=number, name=f"command:{number}")
    with django_assert_num_queries(2):
        names = agent_names()
    with django_assert_num_queries(4):  # buckets, the same for their sums, sums, told versions
        assert len(agents(names)) == 10
