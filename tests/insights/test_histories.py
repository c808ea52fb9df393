"""The history of a prompt and of an agent: what is in it, in which order, with which numbers."""

from datetime import timedelta

import pytest

from insights import bucket_use, histories
from insights.histories import agent_history, prompt_history
from insights.query import counting
from tests.calibration.factories import NOW
from tests.insights.versions import AGENT, STEP, agent, answers, key, prompt

pytestmark = pytest.mark.django_db


def values(history):
    return [version.value for version in history.versions]


def test_nothing_is_known_of_an_unknown_step():
    history = prompt_history("nothing", **counting())
    assert history.versions == []
    assert history.latest is None
    assert history.chosen(None, None) == (None, None)


def test_versions_are_newest_first_with_their_own_numbers():
    prompt("aaa", "one", days_ago=20)
    prompt("bbb", "two!", days_ago=5)
    answers(key(prompt_hash="aaa"), right=3, wrong=1, unmarked=2)
    answers(key(prompt_hash="bbb"), unmarked=1)
    new, old = prompt_history(STEP, **counting()).versions
    assert (new.value, new.chars, new.use.times, new.labelled, new.record.value) == ("bbb", 4, 1, 0, None)
    assert (old.value, old.chars, old.use.times, old.labelled, old.record.value) == ("aaa", 3, 6, 4, 0.75)
    assert (old.use.first, old.use.last) == (NOW - timedelta(days=20), NOW - timedelta(days=19))


def test_answers_without_a_hash_are_one_entry_without_a_text():
    prompt("aaa", "one", days_ago=20)
    answers(key(), right=1, at=NOW - timedelta(days=40))
    answers(key(model="m2"), wrong=1, at=NOW - timedelta(days=30))
    answers(key(prompt_hash="aaa"), unmarked=1)
    history = prompt_history(STEP, **counting())
    assert values(history) == ["aaa", ""]
    unrecorded = history.versions[1]
    assert (unrecorded.chars, unrecorded.labelled, unrecorded.record.value) == (None, 2, 0.5)
    assert (unrecorded.use.first, unrecorded.use.last) == (NOW - timedelta(days=40), NOW - timedelta(days=30))


def test_a_hash_the_registry_never_met_is_an_entry_by_its_answers():
    answers(key(prompt_hash="imported"), right=1, at=NOW - timedelta(days=3))
    (version,) = prompt_history(STEP, **counting()).versions
    assert (version.value, version.chars, version.use.first) == ("imported", None, NOW - timedelta(days=3))


def test_other_steps_and_other_agents_have_histories_of_their_own():
    prompt("aaa", "shared", days_ago=3)
    prompt("aaa", "shared", days_ago=3, step="other")
    answers(key(prompt_hash="aaa"), right=1)
    answers(key(prompt_hash="aaa", step="other"), wrong=5)
    answers(key(prompt_hash="aaa", agent="gateway:else"), wrong=5)
    assert prompt_history(STEP, **counting()).versions[0].labelled == 6  # a prompt has the answers of every agent
    assert agent_history(AGENT, **counting()).versions[0].labelled == 6  # an agent has those in every step
    assert agent_history(AGENT, **counting()).versions[0].steps == ["other", STEP]


def test_an_agents_versions_have_their_notes_and_steps():
    agent("v1", days_ago=9, soul="Be kind.", config="model: m1")
    agent("v2", days_ago=2, note="The backend told no definition.")
    answers(key(agent_version="v1"), right=2)
    new, old = agent_history(AGENT, **counting()).versions
    assert (new.value, new.chars, new.note, new.steps) == ("v2", None, "The backend told no definition.", [])
    assert (old.value, old.chars, old.note, old.steps) == ("v1", 17, "", [STEP])


def test_after_a_revert_the_one_that_ran_last_is_not_the_newest():
    old = prompt("aaa", "one", days_ago=20)
    prompt("bbb", "two", days_ago=5)
    old.last_seen = NOW
    old.save()
    history = prompt_history(STEP, **counting())
    assert values(history) == ["bbb", "aaa"]
    assert history.latest.value == "aaa"


def test_the_comparison_is_of_the_newest_with_the_one_before_unless_asked():
    for days_ago, value in ((9, "aaa"), (5, "bbb"), (1, "ccc")):
        prompt(value, value, days_ago=days_ago)
    history = prompt_history(STEP, **counting())

    def chosen(version, against):
        return [one and one.value for one in history.chosen(version, against)]

    assert chosen(None, None) == ["ccc", "bbb"]
    assert chosen("bbb", None) == ["bbb", "aaa"]
    assert chosen("aaa", None) == ["aaa", None]
    assert chosen("aaa", "ccc") == ["aaa", "ccc"]
    with pytest.raises(histories.UnknownVersion):
        history.chosen("zzz", None)
    with pytest.raises(histories.UnknownVersion):
        history.chosen("aaa", "")


def test_an_edit_is_judged_by_the_same_agent_model_and_agent_version():
    prompt("aaa", "one", days_ago=9)
    prompt("bbb", "two", days_ago=2)
    answers(key(prompt_hash="aaa"), right=10, wrong=10)
    answers(key(prompt_hash="aaa", model="m0"), wrong=30)
    answers(key(prompt_hash="bbb"), right=20)
    new, old = prompt_history(STEP, **counting()).versions
    found = prompt_history(STEP, **counting()).effect(old, new)
    assert (found.difference.before.n, found.difference.before.accuracy) == (20, 0.5)
    assert (found.difference.after.n, found.difference.after.accuracy) == (20, 1.0)
    assert found.difference.verdict == "helped"
    assert found.caveats == ["Only where everything else is the same on both sides: 40 of 70 labels."]


def test_replays_are_answers_but_no_labels():
    answers(key(prompt_hash="aaa"), wrong=2, is_replay=True)
    (version,) = prompt_history(STEP, **counting()).versions
    assert (version.use.times, version.labelled) == (2, 0)


def test_counting_stops_at_a_limit(monkeypatch):
    monkeypatch.setattr(bucket_use, "MOST", 3)
    answers(key(prompt_hash="aaa"), unmarked=5)
    answers(key(prompt_hash="bbb"), unmarked=3)
    found = {version.value: version.use for version in prompt_history(STEP, **counting()).versions}
    assert (found["aaa"].times, found["aaa"].more) == (3, True)
    assert (found["bbb"].times, found["bbb"].more) == (3, False)


def test_the_queries_do_not_grow_with_versions_or_answers(django_assert_num_queries):
    for number in range(12):
        prompt(f"h{number}", "text", days_ago=number)
        answers(key(prompt_hash=f"h{number}"), right=1, unmarked=2)
    with django_assert_num_queries(4):  # buckets, their sums, their use, the registry
        assert len(prompt_history(STEP, **counting()).versions) == 12
    with django_assert_num_queries(4):
        agent_history(AGENT, **counting())
