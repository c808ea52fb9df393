"""The texts behind the hashes, and what changed between them."""

import pytest

from insights import version_texts
from insights.version_texts import Text, agent_texts, changes, prompt_texts
from tests.insights.versions import AGENT, STEP, agent, prompt

pytestmark = pytest.mark.django_db


def test_a_text_that_is_not_kept_is_none():
    agent("v1", days_ago=1, note="gone")
    assert prompt_texts(STEP, "zzz") == []
    assert agent_texts(AGENT, "v1") == []


def test_only_as_much_is_read_as_is_compared(monkeypatch):
    monkeypatch.setattr(version_texts, "COMPARED", 5)
    prompt("aaa", "123456789", days_ago=1)
    prompt("bbb", "12345", days_ago=1)
    assert prompt_texts(STEP, "aaa") == [Text("Template", "12345", 9)]
    (change,) = changes(prompt_texts(STEP, "aaa"), prompt_texts(STEP, "bbb"))
    assert change.is_cut
    assert change.diff.is_empty


def test_soul_and_configuration_are_compared_each_for_itself():
    agent("v1", days_ago=2, soul="Be kind.", config="model: m1")
    agent("v2", days_ago=1, soul="Be kind.", config="model: m2")
    soul, config = changes(agent_texts(AGENT, "v1"), agent_texts(AGENT, "v2"))
    assert (soul.title, soul.diff.is_empty) == ("Soul", True)
    assert (config.title, config.diff.removed, config.diff.added) == ("Configuration", 1, 1)


def test_a_text_only_one_side_has_is_all_new_or_all_gone():
    soul = Text("Soul", "Be kind.", 8)
    config = Text("Configuration", "model: m1", 9)
    _, gone = changes([soul, config], [soul])
    assert (gone.title, gone.diff.removed, gone.diff.added) == ("Configuration", 1, 0)


def test_with_a_side_that_has_no_text_nothing_is_compared():
    assert changes([], [Text("Template", "x", 1)]) == changes([Text("Template", "x", 1)], []) == []
