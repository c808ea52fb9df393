import json
import uuid
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from calibration.models import Mark
from runs.models import QueueItem, Role
from tests import factories
from tests.runs.intake_factories import bearer
from tests.runs.marked import label, markable, said

pytestmark = pytest.mark.django_db


@pytest.fixture
def marker() -> Client:
    return Client(headers=bearer(Role.MARKER))


def post(client: Client, address: str, body: Any) -> Any:
    text = body if isinstance(body, str) else json.dumps(body)
    return client.post(address, text, content_type="application/json")


def of_step(step: Any) -> str:
    return f"/runs/{step.run_id}/steps/{quote(step.name)}/feedback"


def test_a_mark_on_a_step_is_its_label_and_takes_it_out_of_the_queue(marker: Client) -> None:
    step = markable()
    answer = post(marker, of_step(step), {"outcome": "partial", "note": "half of it"})
    assert answer.status_code == 201
    body = answer.json()
    assert (body["outcome"], body["note"], body["by"]) == ("partial", "half of it", "team:payments")
    assert (body["is_current"], body["via"], body["was_blind"], body["offered_by"]) == (True, "api", None, None)
    assert label(step.id) == (0.5, "step_mark")
    assert not QueueItem.objects.filter(step=step).exists()


@pytest.mark.parametrize("name", ["group/0", "a/b/feedback", "ünï code", "100%", "a?b#c", "feedback"])
def test_a_step_is_found_whatever_its_name(marker: Client, name: str) -> None:
    step = markable(name=name)
    assert post(marker, of_step(step), {"outcome": "correct"}).status_code == 201
    seen = marker.get(of_step(step)).json()
    assert (seen["step_name"], seen["label"], seen["label_source"]) == (name, 1.0, "step_mark")


def test_a_newer_mark_counts_and_the_older_one_is_kept(marker: Client) -> None:
    step = markable()
    for outcome in ("correct", "incorrect"):
        post(marker, of_step(step), {"outcome": outcome})
    seen = marker.get(of_step(step)).json()
    assert [(mark["outcome"], mark["is_current"]) for mark in seen["marks"]] == [
        ("incorrect", True),
        ("correct", False),
    ]
    assert seen["label"] == 0.0


def test_two_teams_and_a_person_are_three_markers(marker: Client) -> None:
    step = markable()
    person = Client()
    person.force_login(factories.user("anna", role="marker"))
    post(marker, of_step(step), {"outcome": "correct"})
    post(Client(headers=bearer(Role.MARKER)), of_step(step), {"outcome": "correct"})  # another token of the same team
    post(Client(headers=bearer(Role.MARKER, team="search")), of_step(step), {"outcome": "incorrect"})
    # Without its CSRF token Django's test client is let through; a browser is not.
    post(person, of_step(step), {"outcome": "partial"})
    assert said() == [
        ("team:payments", "correct", True),
        ("team:search", "incorrect", True),
        ("anna", "partial", True),
    ]
    assert label(step.id) == ((1 + 0 + 0.5) / 3, "step_mark")


def test_the_account_of_a_team_cannot_sign_in(marker: Client) -> None:
    post(marker, of_step(markable()), {"outcome": "correct"})
    team = Mark.objects.get().by
    assert not team.is_active
    assert not team.has_usable_password()


def test_a_double_submit_is_one_mark(marker: Client) -> None:
    step = markable()
    first = post(marker, of_step(step), {"outcome": "correct"})
    second = post(marker, of_step(step), {"outcome": "correct"})
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json() == first.json()


def test_a_mark_on_the_run_labels_what_nothing_closer_labels(marker: Client) -> None:
    run = factories.run()
    open_, failed, marked = (
        markable(run, "open"),
        markable(run, "failed", check_failed=True),
        markable(run, "marked"),
    )
    post(marker, of_step(marked), {"outcome": "partial"})
    answer = post(marker, f"/runs/{run.id}/feedback", {"outcome": "correct", "notes": "as the ticket says"})
    assert answer.status_code == 201
    assert answer.json()["note"] == "as the ticket says"
    assert label(open_.id) == (1.0, "run_mark")
    assert label(failed.id) == (0.0, "failed_check")
    assert label(marked.id) == (0.5, "step_mark")
    assert QueueItem.objects.get(step=open_).label_source == "run_mark"
    assert [mark["outcome"] for mark in marker.get(f"/runs/{run.id}/feedback").json()["marks"]] == ["correct"]


def test_history_comes_in_pages(marker: Client) -> None:
    step = markable()
    for number in range(5):
        post(marker, of_step(step), {"outcome": "correct", "note": str(number)})
    notes, after = [], ""
    while True:
        page = marker.get(f"{of_step(step)}?limit=2{after}").json()
        notes += [mark["note"] for mark in page["marks"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert notes == ["4", "3", "2", "1", "0"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "outcome"),
        ({"outcome": "wrong"}, "outcome"),
        ({"outcome": True}, "outcome"),
        ({"outcome": "correct", "note": 3}, "note"),
        ({"outcome": "correct", "note": "x" * 10_001}, "note"),
        ({"outcome": "correct", "note": "a", "notes": "b"}, "notes"),
        ({"outcome": "correct", "blind": True}, "blind"),
    ],
)
def test_what_cannot_be_understood_is_refused_and_named(marker: Client, body: Any, field: str) -> None:
    step = markable()
    answer = post(marker, of_step(step), body)
    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert Mark.objects.count() == 0


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "after=x", "after=99", "page=2"])
def test_a_parameter_that_is_wrong_is_refused(marker: Client, query: str) -> None:
    assert marker.get(f"{of_step(markable())}?{query}").status_code == 400


def test_what_is_not_there_is_404_and_says_what_is(marker: Client) -> None:
    step = markable(name="assess")
    nowhere = uuid.uuid4()
    for address in (f"/runs/{nowhere}/feedback", f"/runs/{nowhere}/steps/assess/feedback"):
        assert marker.get(address).status_code == 404
        assert post(marker, address, {"outcome": "correct"}).status_code == 404
    for name in ("asess", "a%00b"):
        answer = marker.get(f"/runs/{step.run_id}/steps/{name}/feedback")
        assert answer.status_code == 404
        assert "It has: assess." in answer.json()["error"]


def test_a_step_without_a_confidence_cannot_be_marked(marker: Client) -> None:
    step = factories.step(factories.run(), "notify", status="skipped")
    answer = post(marker, of_step(step), {"outcome": "correct"})
    assert answer.status_code == 409
    assert "notify is skipped and has no confidence" in answer.json()["error"]
    assert marker.get(of_step(step)).json()["label"] is None


def test_a_run_that_has_not_ended_cannot_be_marked(marker: Client) -> None:
    run = factories.run(status="running")
    assert post(marker, f"/runs/{run.id}/feedback", {"outcome": "correct"}).status_code == 409


def test_a_viewer_reads_and_does_not_mark() -> None:
    step = markable()
    viewer = Client(headers=bearer(Role.VIEWER))
    assert viewer.get(of_step(step)).status_code == 200
    assert post(viewer, of_step(step), {"outcome": "correct"}).status_code == 403
    assert post(viewer, f"/runs/{step.run_id}/feedback", {"outcome": "correct"}).status_code == 403
    assert Client().get(of_step(step)).status_code == 401
