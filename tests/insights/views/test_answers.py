import re
import uuid
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from calibration import labels
from calibration.buckets import BucketKey, bucket_id, record_sample
from runs.models import Step
from tests import factories

pytestmark = pytest.mark.django_db


def words(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode())))


def answered(agent: str, model: str = "m1", *, outcome: str = "", **fields: Any) -> Step:
    step = factories.step(factories.run(now=timezone.now()), agent=agent, model=model, **fields)
    if outcome:
        key = BucketKey(step.name, agent, model, step.provider)
        record_sample(
            id=step.id, bucket_id=bucket_id(key), group=step.run_id, stage="production", confidence=0.9,
            observed_at=timezone.now(), check_failed=False,
        )  # fmt: skip
        marker = factories.user(f"m-{uuid.uuid4()}", role="marker")
        labels.mark_sample(sample_id=step.id, by=marker, outcome=outcome, was_blind=None, via="api", now=timezone.now())
    return step


@pytest.mark.parametrize("page", ["agents", "models"])
def test_without_answers_it_says_what_will_stand_here(viewer: Client, page: str) -> None:
    assert "No agent answered in the last 7 days" in words(viewer, f"/ui/insights/{page}")


def test_each_agent_by_how_its_answers_went(viewer: Client) -> None:
    answered("command:triage", outcome="correct", input_tokens=100, output_tokens=20, duration_ms=1000)
    answered("command:triage", outcome="partial", input_tokens=200, output_tokens=80, duration_ms=3000)
    answered("command:triage", status="failed", duration_ms=None)
    answered("command:plan", duration_ms=500)
    told = words(viewer, "/ui/insights/agents")
    # triage: 2 of 3 did not fail; (1 + 0.5) / 2 right; (120 + 280) / 2 tokens; (1 + 3) / 2 seconds
    assert re.search(r"command:triage .*?3 .*?67% of 3.*?75% of 2.*?200 .*?2\.0 s .*?command:plan", told)
    # plan: neither marks nor tokens are known, which is not 0
    assert re.search(r"command:plan .*?1 .*?100% of 1.*?no marks yet.*?not told.*?500 ms", told)


def test_models_are_told_apart_by_provider(viewer: Client) -> None:
    answered("command:a", "m1", provider="one")
    answered("command:b", "m1", provider="one", outcome="incorrect")
    answered("command:a", "m1", provider="two")
    answered("command:a", "", provider="")
    told = words(viewer, "/ui/insights/models")
    assert re.search(r"m1 one .*?2 .*?0% of 1", told)
    assert "m1 two" in told
    assert "not reported" in told


def test_a_typo_is_400(viewer: Client) -> None:
    assert viewer.get("/ui/insights/models?period=week").status_code == 400


def test_more_steps_than_the_page_reads_are_said_to_be_left_out(viewer: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr("insights.windows.newest.__kwdefaults__", {"limit": 2})
    for n in range(3):
        answered(f"command:{n}")
    told = words(viewer, "/ui/insights/agents")
    assert "these are the newest 2 steps" in told
    assert "command:0" not in told
    assert "command:2" in told


@pytest.mark.parametrize("page", ["agents", "models"])
@pytest.mark.parametrize("agents", [2, 30])
def test_the_number_of_queries_does_not_grow(
    viewer: Client, page: str, agents: int, django_assert_num_queries: Any
) -> None:
    for n in range(agents):
        answered(f"command:{n}", f"m{n}")
    # session, user, roles, the window, steps, labels; which agents have a page
    with django_assert_num_queries(9 if page == "agents" else 7):
        viewer.get(f"/ui/insights/{page}")


def test_only_agents_with_a_page_are_linked(viewer: Client) -> None:
    answered("command:plan", outcome="correct")
    answered("command:broken", status="failed")
    answered("", outcome="correct")
    text = viewer.get("/ui/insights/agents").content.decode()
    assert re.findall(r'href="(/ui/agents/[^"]*)"', text) == ["/ui/agents/command:plan"]
    assert "command:broken" in text


def test_an_answer_of_nobody_known_makes_no_agent(viewer: Client) -> None:
    answered("", outcome="correct")
    assert "No agent has answered yet" in words(viewer, "/ui/agents")
    assert viewer.get("/agents").json() == {"agents": [], "total": 0}
