"""What the run page says of the questions that the run's steps ask people."""

import pytest
from django.test import Client
from django.utils import timezone

from runs.escalations import approving
from runs.escalations.deciding import Said
from runs.models import Approval, Run, RunEvent
from tests import factories
from tests.pipelines import Pipelines, human, human_check, step

pytestmark = pytest.mark.django_db(transaction=True)


def shown(client: Client, run: Run) -> str:
    return client.get(f"/ui/runs/{run.id}").content.decode()


def test_an_open_question_stands_on_the_run_with_a_way_to_answer(
    viewer: Client, operator: Client, pipelines: Pipelines
) -> None:
    pipelines.write("p", human(message="Restart <i>it</i>?"), step("after"))
    run = pipelines.run("p")
    asked = Approval.objects.get()
    html = shown(operator, run)
    assert "Restart &lt;i&gt;it&lt;/i&gt;?" in html
    assert html.count(f'href="/ui/approvals/{asked.id}"') == 2  # at the top, and at its step
    assert "Approve or reject" in html
    assert "Approve or reject" not in shown(viewer, run)

    approving.approve(asked.id, Said("ann", "the window is open", timezone.now()))
    html = shown(operator, run)
    assert "Approve or reject" not in html
    assert "the window is open" in html
    assert "<bdi>ann</bdi>" in html


def test_several_lead_to_their_list(operator: Client, pipelines: Pipelines) -> None:
    pipelines.write("p", step("look", deterministic_checks=[human_check("one"), human_check("two")]))
    run = pipelines.run("p")
    html = shown(operator, run)
    assert f'href="/ui/approvals?run={run.id}"' in html
    for name in ("one", "two"):
        assert f"check <bdi>{name}</bdi>" in html


def test_the_log_says_what_really_begins(pipelines: Pipelines) -> None:
    pipelines.write("inner", human("sign"))
    pipelines.write("p", {"name": "triage", "executor": "pipeline", "executor_config": {"pipeline": "inner"}})
    pipelines.run("p")
    told = list(RunEvent.objects.filter(kind="step.started").order_by("id").values_list("message", flat=True))
    assert told[:1] == ["triage starts its pipeline."]


def test_a_human_step_is_said_to_wait(pipelines: Pipelines) -> None:
    pipelines.write("p", human("sign-off"))
    run = pipelines.run("p")
    assert run.events.get(kind="step.started").message == "sign-off waits for a person."


def test_a_long_question_is_cut_on_the_run(operator: Client) -> None:
    run = factories.run(status="running")
    waiting = factories.step(run, "ask", status="pending", executor="human")
    factories.approval(waiting, message="x" * 5_000)
    html = shown(operator, run)
    assert "x" * 1_000 + "…" in html
    assert "x" * 1_001 not in html
