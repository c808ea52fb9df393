"""Approvals through the API: reading them, answering, and every way of being refused."""

import threading
import uuid
from typing import Any

import pytest
from django.test import Client

from runs.models import Approval, Role
from tests import factories
from tests.at_once import at_once
from tests.pipelines import Pipelines, human, human_check, step
from tests.runs.intake_factories import bearer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asking(pipelines: Pipelines) -> Approval:
    pipelines.write("p", human(executor_config={"message": "Go?", "to": "desk"}), step("after"))
    return Approval.objects.get(run=pipelines.run("p"))


def post(client: Client, approval_id: uuid.UUID, body: Any, role: Role = Role.OPERATOR) -> Any:
    path = f"/approvals/{approval_id}/answer"
    return client.post(path, body, content_type="application/json", headers=bearer(role))


def get(client: Client, path: str) -> Any:
    return client.get(path, headers=bearer(Role.VIEWER))


def test_what_waits_is_listed(client: Client, asking: Approval) -> None:
    answer = get(client, "/approvals").json()
    [one] = answer["approvals"]
    assert answer["next"] is None
    assert (one["id"], one["name"], one["kind"], one["pipeline_name"]) == (str(asking.id), "ask", "step", "p")
    assert (one["message_head"], one["to"], one["due_at"], one["closed_by"]) == ("Go?", "desk", None, None)
    assert (one["state"], one["run_status"], one["step_name"]) == ("open", "running", "ask")
    assert get(client, "/approvals?state=closed").json() == {"approvals": [], "next": None}


def test_one_tells_what_each_answer_would_do(client: Client, asking: Approval) -> None:
    one = get(client, f"/approvals/{asking.id}").json()
    assert (one["message"], one["output"]) == ("Go?", None)
    assert one["next"] == {
        "approve": "Then step after runs.",
        "reject": "The run ends as aborted. Nothing after this step is started.",
        "silence": "There is no deadline: it waits until somebody answers.",
    }


def test_of_a_check_the_answer_to_be_checked_is_told(client: Client, pipelines: Pipelines) -> None:
    says = {"confidence": 0.9, "summary": "the disk", "next_step_context": ""}
    pipelines.write("p", step("look", says=says, deterministic_checks=[human_check()]))
    asked = Approval.objects.get(run=pipelines.run("p"))
    assert get(client, f"/approvals/{asked.id}").json()["output"] == says


@pytest.mark.parametrize(
    ("body", "state"),
    [({"answer": "approve"}, "approved"), ({"answer": "reject", "reason": "not today"}, "rejected")],
)
def test_each_answer(client: Client, asking: Approval, body: dict[str, Any], state: str) -> None:
    answer = post(client, asking.id, body)
    assert answer.status_code == 200
    one = answer.json()
    assert (one["state"], one["reason"], one["next"]) == (state, body.get("reason", ""), None)
    assert one["closed_by"].startswith("token ")


@pytest.mark.parametrize(
    ("body", "field", "told"),
    [
        ({"answer": "reject"}, "reason", "A reason is needed to reject"),
        ({"answer": "approve", "reason": 3}, "reason", "expected text"),
        ({"answer": "approve", "reason": "x" * 2001}, "reason", "2000"),
        ({"answer": "abort", "reason": "x"}, "answer", "approve"),
        ({"reason": "x"}, "answer", "required"),
        ({"answer": "approve", "nonsense": 1}, "nonsense", "unknown field"),
    ],
)
def test_bad_input_is_named_and_answers_nothing(
    client: Client, asking: Approval, body: dict[str, Any], field: str, told: str
) -> None:
    answer = post(client, asking.id, body)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert told in answer.json()["error"]
    asking.refresh_from_db()
    assert asking.state == "open"


def test_too_late_is_a_conflict_that_says_who_was_first(client: Client, asking: Approval) -> None:
    post(client, asking.id, {"answer": "reject", "reason": "no"})
    late = post(client, asking.id, {"answer": "approve"})
    assert late.status_code == 409
    assert late.json()["error"].startswith("This was already rejected by token ")


def test_of_two_at_once_one_wins_and_the_other_gets_409(asking: Approval) -> None:
    lock, codes = threading.Lock(), []

    def answer(given: str) -> None:
        code = post(Client(), asking.id, {"answer": given, "reason": "now"}).status_code
        with lock:
            codes.append(code)

    at_once(lambda: answer("approve"), lambda: answer("reject"))
    assert sorted(codes) == [200, 409]


def test_viewers_read_and_operators_answer(client: Client, asking: Approval) -> None:
    assert post(client, asking.id, {"answer": "approve"}, role=Role.MARKER).status_code == 403
    assert client.get("/approvals").status_code == 401


def test_what_is_not_there_is_404(client: Client) -> None:
    nothing = uuid.UUID(int=1)
    assert get(client, f"/approvals/{nothing}").status_code == 404
    assert post(client, nothing, {"answer": "approve"}).status_code == 404


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=all", "state"), ("stage=prod", "stage"), ("overdue=true", "overdue"), ("run=x", "run"),
        ("after=x", "after"), (f"after={uuid.UUID(int=1)}", "after"), ("limit=0", "limit"), ("limit=201", "limit"),
        ("to=", "to"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(client: Client, query: str, field: str) -> None:
    answer = get(client, f"/approvals?{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_pages_and_filters(client: Client) -> None:
    run = factories.run(status="running")
    made = [factories.approval(factories.step(run, f"fan/{n}", status="pending"), to="desk") for n in range(3)]
    factories.approval(factories.step(factories.run(status="running"), status="pending"))
    first = get(client, f"/approvals?step=fan&to=desk&run={run.id}&limit=2").json()
    assert [one["step_name"] for one in first["approvals"]] == ["fan/0", "fan/1"]
    assert first["next"] == str(made[1].id)
    second = get(client, f"/approvals?step=fan&limit=2&after={first['next']}").json()
    assert ([one["step_name"] for one in second["approvals"]], second["next"]) == (["fan/2"], None)
