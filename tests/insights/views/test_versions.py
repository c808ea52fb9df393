"""The pages of histories: prompts of a step, agents and their versions."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from tests import factories
from tests.insights.versions import AGENT, STEP, agent, answers, key, prompt

pytestmark = pytest.mark.django_db
PROMPTS = f"/ui/insights/steps/{STEP}/versions"


def html(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status
    return unescape(response.content.decode())


def words(client: Client, address: str) -> str:
    """The page's text, blanks joined."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html(client, address)))


def edited() -> None:
    prompt("aaa", "Look at the last 10 minutes.", days_ago=9)
    prompt("bbb", "Look at the last 30 minutes.", days_ago=2)
    answers(key(prompt_hash="aaa"), right=15, wrong=15)
    answers(key(prompt_hash="bbb"), right=29, wrong=1)


def test_an_unknown_step_is_404(viewer: Client) -> None:
    html(viewer, "/ui/insights/steps/nothing/versions", status=404)


def test_a_step_that_ran_without_being_measured_says_what_will_stand_here(viewer: Client) -> None:
    factories.step(factories.run(), "notify", status="failed", prompt_hash="")
    assert "No version has been measured yet" in html(viewer, "/ui/insights/steps/notify/versions")


def test_the_page_answers_whether_the_edit_helped_and_marks_the_words(viewer: Client) -> None:
    edited()
    text = html(viewer, PROMPTS)
    assert "It helped: 50% of 30 before, 97% of 30 after" in text
    assert "<del>10</del>" in text
    assert "<ins>30</ins>" in text
    assert text.index('?version=bbb"') < text.index('?version=aaa"')


def test_any_two_versions_can_be_compared(viewer: Client) -> None:
    edited()
    prompt("ccc", "Look at the last 90 minutes.", days_ago=1)
    text = html(viewer, f"{PROMPTS}?version=ccc&against=aaa")
    assert "<del>10</del>" in text
    assert "<ins>90</ins>" in text
    assert "Too few marks to say: 30 before and 0 after" in text


def test_the_first_version_has_nothing_to_be_compared_with_and_shows_its_text(viewer: Client) -> None:
    edited()
    text = html(viewer, f"{PROMPTS}?version=aaa")
    assert "Did that edit help?" not in text
    assert "<details" in text
    assert " open>" in text
    assert "Look at the last 10 minutes." in text


def test_answers_without_a_hash_are_an_entry_that_says_its_text_is_not_known(viewer: Client) -> None:
    prompt("aaa", "text", days_ago=1)
    answers(key(), wrong=1)
    text = words(viewer, PROMPTS)
    assert "These runs told no version." in text
    assert "Without the text of both versions there is nothing to compare" in text
    assert "they recorded no template" in words(viewer, f"{PROMPTS}?version=")


@pytest.mark.parametrize("query", ["?version=aaa&against=zzz", "?against="])
def test_a_version_that_never_ran_cannot_be_compared_with(viewer: Client, query: str) -> None:
    edited()
    html(viewer, PROMPTS + query, status=404)


@pytest.mark.parametrize("query", ["?vresion=aaa", "?page=0", "?page=x", "?version=aaa&version=bbb"])
def test_a_typo_is_400(viewer: Client, query: str) -> None:
    edited()
    html(viewer, PROMPTS + query, status=400)


def test_a_long_history_has_pages(viewer: Client) -> None:
    for number in range(25):
        prompt(f"h{number:02}", f"text {number}", days_ago=number)
    first, second = html(viewer, PROMPTS), html(viewer, f"{PROMPTS}?page=2")
    assert '?version=h19"' in first
    assert '?version=h20"' not in first
    assert '?version=h20"' in second


def test_text_of_a_version_is_never_markup(viewer: Client) -> None:
    prompt("aaa", "<script>alert(1)</script> one", days_ago=2)
    prompt("bbb", "<script>alert(1)</script> two", days_ago=1)
    response = viewer.get(PROMPTS).content.decode()
    assert "<script>alert" not in response
    assert "&lt;script&gt;alert" in response


def test_labels_that_only_checks_gave_are_marked_as_such(viewer: Client) -> None:
    answers(key(prompt_hash="aaa"), unmarked=3, check_failed=True)
    assert "mostly failed checks" in words(viewer, PROMPTS)
    answers(key(prompt_hash="aaa"), right=3)
    assert "mostly failed checks" not in words(viewer, PROMPTS)


def test_an_agents_versions_show_soul_and_configuration_and_the_steps(viewer: Client) -> None:
    agent("v1", days_ago=9, soul="You are careful.", config="temperature: 0.2")
    agent("v2", days_ago=2, soul="You are curious.", config="temperature: 0.2")
    answers(key(agent_version="v2", step="close/eu"), unmarked=1)
    text = html(viewer, f"/ui/agents/{AGENT}/versions")
    assert "<del>careful</del>" in text
    assert "<ins>curious</ins>" in text
    assert "The text is the same." in text
    assert 'href="/ui/insights/steps/close/eu"' in text


def test_an_agent_version_without_a_text_says_why(viewer: Client) -> None:
    agent("v1", days_ago=1, note="The backend told no definition.")
    assert html(viewer, f"/ui/agents/{AGENT}/versions").count("The backend told no definition.") == 2


def test_an_agents_page_lists_the_steps_it_runs_in(viewer: Client) -> None:
    answers(key(agent_version="v2", prompt_hash="aaa"), right=1, unmarked=1)
    text = html(viewer, f"/ui/agents/{AGENT}")
    assert f"{PROMPTS}?version=aaa" in text
    assert f"/ui/agents/{AGENT}/versions?version=v2" in text


def test_the_list_of_agents(viewer: Client) -> None:
    assert "No agent has answered yet" in html(viewer, "/ui/agents")
    answers(key(), right=1)
    agent("v9", days_ago=1)
    text = html(viewer, "/ui/agents")
    assert f'href="/ui/agents/{AGENT}"' in text
    assert "v9" in text
    assert "No agent is called that" in html(viewer, "/ui/agents?q=zzz")
    html(viewer, "/ui/agents?qq=zzz", status=400)


@pytest.mark.parametrize("name", ["nothing", "nothing/versions"])
def test_an_unknown_agent_is_404(viewer: Client, name: str) -> None:
    html(viewer, f"/ui/agents/{name}", status=404)


def test_the_chips_of_a_run_lead_here_whatever_the_names_hold(viewer: Client) -> None:
    step = factories.step(factories.run(), "odd/na\nme?", agent="gateway:a b/c", prompt_hash="aaa", agent_version="v1")
    chips = re.findall(r'class="chip" href="([^"]+)"', viewer.get(f"/ui/steps/{step.id}").content.decode())
    assert len(chips) == 2
    for address in chips:  # the run may be ahead of the registry
        assert "was not recorded, and nothing was measured under it yet" in words(viewer, address)
    prompt("aaa", "text", days_ago=1, step=step.name)
    agent("v1", days_ago=1, name=step.agent, soul="text")
    for address in chips:
        assert "nothing was measured" not in words(viewer, address)


def test_the_queries_do_not_grow_with_the_history(viewer: Client, django_assert_max_num_queries: Any) -> None:
    for number in range(15):
        prompt(f"h{number:02}", f"text {number}", days_ago=number)
        answers(key(prompt_hash=f"h{number:02}"), right=1)
    viewer.get(PROMPTS)
    # session, user, groups and preference; buckets, sums, use, registry; two texts
    with django_assert_max_num_queries(11):
        viewer.get(PROMPTS)
