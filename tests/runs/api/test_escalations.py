"""Escalations through the API: reading them, deciding, and every way of being refused."""

import threading
import uuid
from typing import Any

import pytest
from django.test import Client

from runs.models import Decision, Escalation, Role, Run
from tests import factories
from tests.at_once import at_once
from tests.pipelines import Pipelines, step
from tests.runs.intake_factories import bearer

pytestmark = pytest.mark.django_db(transaction=True)

ANSWER = {"confidence": 0.5, "summary": "the disk", "next_step_context": ""}


@pytest.fixture
def paused(pipelines: Pipelines) -> Escalation:
    pipelines.write("p", step("act", says=ANSWER, escalation={"to": "desk"}), step("refund"))
    return Escalation.objects.get(run=pipelines.run("p"))


def post(client: Client, escalation_id: uuid.UUID, body: Any, role: Role = Role.OPERATOR) -> Any:
    path = f"/escalations/{escalation_id}/decision"
    return client.post(path, body, content_type="application/json", headers=bearer(role))


def get(client: Client, path: str) -> Any:
    return client.get(path, headers=bearer(Role.VIEWER))


def test_what_waits_is_listed_with_what_one_needs_to_choose(client: Client, paused: Escalation) -> None:
    answer = get(client, "/escalations").json()
    [one] = answer["escalations"]
    assert answer["next"] is None
    assert (one["id"], one["step_name"], one["pipeline_name"]) == (str(paused.id), "act", "p")
    assert (one["combined_trust"], one["confidence_threshold"], one["to"], one["tier"]) == (0.5, 0.75, "desk", 0)
    assert (one["state"], one["run_status"], one["due_at"], one["closed_by"]) == ("open", "escalated", None, None)
    assert get(client, "/escalations?state=closed").json() == {"escalations": [], "next": None}


def test_one_tells_what_each_decision_would_do(client: Client, paused: Escalation) -> None:
    one = get(client, f"/escalations/{paused.id}").json()
    assert (one["output"], one["revised_output"], one["decisions"]) == (ANSWER, None, [])
    assert one["next"] == {
        "approve": "Then step refund runs.",
        "revise": "Your version stands in the place of the answer. Then step refund runs.",
        "escalate": "The run stays paused, and the group you name is asked instead.",
        "abort": "The run ends as aborted. Nothing after this step is started.",
        "silence": "There is no deadline: it waits until somebody decides.",
    }


@pytest.mark.parametrize(
    ("body", "state", "status"),
    [
        ({"decision": "approve"}, "approved", "running"),
        ({"decision": "revise", "output": {**ANSWER, "summary": "the router"}}, "revised", "running"),
        ({"decision": "escalate", "to": "leads"}, "open", "escalated"),
        ({"decision": "abort", "tier": 0}, "aborted", "aborted"),
    ],
)
def test_each_decision(client: Client, paused: Escalation, body: dict[str, Any], state: str, status: str) -> None:
    answer = post(client, paused.id, {"reason": "looked", **body})
    assert answer.status_code == 200
    one = answer.json()
    assert (one["state"], one["run_status"]) == (state, status)
    [decision] = one["decisions"]
    assert (decision["decision"], decision["reason"], decision["to"]) == (body["decision"], "looked", body.get("to"))
    assert decision["by"].startswith("token ")
    assert decision["changes"] == ({"summary": ["the disk", "the router"]} if "output" in body else None)
    assert one["revised_output"] == body.get("output")


@pytest.mark.parametrize(
    ("body", "field", "told"),
    [
        ({"decision": "approve"}, "reason", "required"),
        ({"decision": "approve", "reason": " "}, "reason", "A reason is needed."),
        ({"decision": "approve", "reason": 3}, "reason", "expected text"),
        ({"decision": "approve", "reason": "x" * 2001}, "reason", "2000"),
        ({"decision": "timeout", "reason": "x"}, "decision", "approve"),
        ({"reason": "x"}, "decision", "required"),
        ({"decision": "revise", "reason": "x"}, "output", "An output is needed to revise."),
        ({"decision": "approve", "reason": "x", "output": ANSWER}, "output", "An output only goes with revise."),
        ({"decision": "revise", "reason": "x", "output": [1]}, "output", "expected an object, not list"),
        ({"decision": "revise", "reason": "x", "output": None}, "output", ""),
        ({"decision": "revise", "reason": "x", "output": {}}, "output.summary", "summary: expected text"),
        ({"decision": "revise", "reason": "x", "output": {**ANSWER, "proceed": 1}}, "output.proceed", "true or false"),
        ({"decision": "revise", "reason": "x", "output": ANSWER}, "output", "the same as the answer"),
        ({"decision": "escalate", "reason": "x"}, "to", "needed to escalate"),
        ({"decision": "escalate", "reason": "x", "to": "desk"}, "to", "desk is asked already."),
        ({"decision": "abort", "reason": "x", "to": "leads"}, "to", "only goes with escalate"),
        ({"decision": "abort", "reason": "x", "tier": "0"}, "tier", "whole number"),
        ({"decision": "abort", "reason": "x", "nonsense": 1}, "nonsense", "unknown field"),
    ],
)
def test_bad_input_is_named_and_decides_nothing(
    client: Client, paused: Escalation, body: dict[str, Any], field: str, told: str
) -> None:
    answer = post(client, paused.id, body)
    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert told in answer.json()["error"]
    assert not Decision.objects.exists()


def test_too_late_is_a_conflict_that_says_who_was_first(client: Client, paused: Escalation) -> None:
    post(client, paused.id, {"decision": "abort", "reason": "no"})
    late = post(client, paused.id, {"decision": "approve", "reason": "yes"})
    assert late.status_code == 409
    assert late.json()["error"].startswith("This was already aborted by token ")


def test_a_tier_that_has_passed_is_a_conflict(client: Client, paused: Escalation) -> None:
    post(client, paused.id, {"decision": "escalate", "to": "leads", "reason": "mine no more"})
    late = post(client, paused.id, {"decision": "approve", "reason": "yes", "tier": 0})
    assert (late.status_code, "handed on to leads by token " in late.json()["error"]) == (409, True)


def test_of_two_at_once_one_wins_and_the_other_gets_409(paused: Escalation) -> None:
    lock, codes = threading.Lock(), []

    def decide(decision: str) -> None:
        code = post(Client(), paused.id, {"decision": decision, "reason": "now"}).status_code
        with lock:
            codes.append(code)

    at_once(lambda: decide("approve"), lambda: decide("abort"), lambda: decide("approve"))
    assert sorted(codes) == [200, 409, 409]
    assert Decision.objects.count() == 1


def test_viewers_read_and_operators_decide(client: Client, paused: Escalation) -> None:
    assert post(client, paused.id, {"decision": "abort", "reason": "x"}, role=Role.MARKER).status_code == 403
    assert client.get("/escalations").status_code == 401


def test_what_is_not_there_is_404(client: Client) -> None:
    nothing = uuid.UUID(int=1)
    assert get(client, f"/escalations/{nothing}").status_code == 404
    assert post(client, nothing, {"decision": "abort", "reason": "x"}).status_code == 404


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=all", "state"), ("stage=prod", "stage"), ("overdue=yes", "overdue"), ("run=x", "run"),
        ("after=x", "after"), (f"after={uuid.UUID(int=1)}", "after"), ("limit=0", "limit"), ("limit=201", "limit"),
        ("to=", "to"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(client: Client, query: str, field: str) -> None:
    answer = get(client, f"/escalations?{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_pages_and_filters(client: Client) -> None:
    run: Run = factories.run(status="escalated")
    made = [factories.escalation(factories.step(run, f"fan/{n}", status="escalated"), to="desk") for n in range(3)]
    factories.escalation(factories.step(factories.run(status="escalated"), status="escalated"))
    first = get(client, f"/escalations?step=fan&to=desk&run={run.id}&limit=2").json()
    assert [one["step_name"] for one in first["escalations"]] == ["fan/0", "fan/1"]
    assert first["next"] == str(made[1].id)
    second = get(client, f"/escalations?step=fan&limit=2&after={first['next']}").json()
    assert ([one["step_name"] for one in second["escalations"]], second["next"]) == (["fan/2"], None)


def test_the_list_is_one_query(client: Client, django_assert_num_queries: Any) -> None:
    headers = bearer(Role.VIEWER)
    client.get("/escalations", headers=headers)
    for _ in range(3):
        factories.escalation(factories.step(factories.run(status="escalated"), status="escalated"))
    with django_assert_num_queries(1):
        assert len(client.get("/escalations", headers=headers).json()["escalations"]) == 3
