"""The button, the question and the answer of running a run again; and POST /runs/{id}/rerun."""

import json
import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from runs.models import Role, Run
from tests.pipelines import Pipelines, step
from tests.runs.intake_factories import bearer
from tests.runs.views.test_run_page import text_of, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def ended(pipelines: Pipelines, published: list[Any]) -> Run:
    pipelines.write("triage", *(step(name) for name in ("look", "then")))
    return pipelines.run("triage")


def test_each_step_of_an_ended_run_leads_to_the_question(operator: Client, viewer: Client, ended: Run) -> None:
    page = text_of(operator, f"/ui/runs/{ended.id}")
    url = f"{reverse('ui-run-again', args=[ended.id])}?from=then"
    assert page.count("Run again from here") == 2
    assert f'href="{url}"' in page
    assert "Run again from here" not in text_of(viewer, f"/ui/runs/{ended.id}")
    Run.objects.filter(id=ended.id).update(status="running")
    assert "Run again from here" not in text_of(operator, f"/ui/runs/{ended.id}")
    Run.objects.filter(id=ended.id).update(status="completed")
    asked = words(text_of(operator, url))
    assert "Taken over: look . Runs again: then . Stage testing." in asked
    answer = operator.post(reverse("ui-run-again", args=[ended.id]), {"from": "then", "version": "current"})
    new = Run.objects.get(rerun_of=ended)
    assert (answer.status_code, answer.url) == (302, f"/ui/runs/{new.id}")  # type: ignore[attr-defined]
    assert f'href="/ui/runs/{new.id}"' in text_of(viewer, f"/ui/runs/{ended.id}")
    page = text_of(viewer, f"/ui/runs/{new.id}")
    assert f'href="/ui/runs/{ended.id}"' in page
    assert "Taken over from the run that is run again" in words(page)
    assert f'href="/ui/steps/{ended.steps.get(name="look").id}"' in page


def test_what_cannot_be_is_told_in_its_place(operator: Client, ended: Run) -> None:
    path = reverse("ui-run-again", args=[ended.id])
    asked = operator.get(f"{path}?from=%3Cb%3Enothing").content.decode()
    assert "has no step &#x27;&lt;b&gt;nothing&#x27;" in asked
    assert "<b>nothing" not in asked
    assert ">Run again</button>" not in asked
    refused = operator.post(path, {"from": "nothing", "version": "same"})
    assert refused.status_code == 400
    assert operator.post(path, {"from": "look", "version": "newest"}).status_code == 400
    assert operator.post(path, {"from": "look"}).status_code == 400
    assert operator.get(reverse("ui-run-again", args=[uuid.uuid4()])).status_code == 404
    assert Run.objects.count() == 1


def post(client: Client, run_id: Any, body: Any, role: Role = Role.OPERATOR) -> Any:
    path = f"/runs/{run_id}/rerun"
    return client.generic("POST", path, json.dumps(body), content_type="application/json", headers=bearer(role))


def test_the_api(client: Client, ended: Run) -> None:
    answer = post(client, ended.id, {"from_step": "then", "version": "same"})
    new = Run.objects.get(rerun_of=ended)
    assert answer.status_code == 202
    assert answer.json() == {
        "status": "accepted", "pipeline": "triage", "run_id": str(new.id), "rerun_of": str(ended.id),
    }  # fmt: skip
    told = client.get(f"/runs/{new.id}", headers=bearer(Role.VIEWER)).json()
    assert (told["rerun_of"], told["rerun_from"]) == (str(ended.id), "then")
    assert [one["taken_from"] is not None for one in told["steps"]] == [True]
    assert post(client, new.id, {"from_step": "then"}).status_code == 409  # it is queued
    unknown = post(client, ended.id, {"from_step": "nothing"})
    assert (unknown.status_code, unknown.json()["field"], unknown.json()["allowed"]) == (
        400,
        "from_step",
        ["look", "then"],
    )
    assert post(client, ended.id, {"from_step": "then", "version": "newest"}).status_code == 400
    assert post(client, ended.id, {}).status_code == 400
    assert post(client, ended.id, {"from_step": "then", "more": 1}).status_code == 400
    assert post(client, "00000000-0000-0000-0000-000000000000", {"from_step": "then"}).status_code == 404
    assert post(client, ended.id, {"from_step": "then"}, Role.MARKER).status_code == 403
