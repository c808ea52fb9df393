"""The page of schedules, the card of a pipeline and GET /schedules: what comes next, and how it went last."""

from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from runs.models import Role, Run
from runs.schedules import listing
from runs.schedules.ticking import run_due
from tests import factories
from tests.runs.intake_factories import NOW, bearer
from tests.runs.schedules.scheduled import HOURLY, loaded

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def viewer() -> Client:
    client = Client()
    client.force_login(factories.user(role="viewer"))
    return client


def html(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return unescape(response.content.decode())


def test_what_comes_next_is_first_and_what_does_not_run_last(tmp_path: Path) -> None:
    loaded(tmp_path, "a-trial", stage="testing")
    loaded(tmp_path, "daily", schedule={"cron": "0 6 * * *"})
    loaded(tmp_path, "hourly")
    loaded(tmp_path, "unscheduled", schedule=None)
    found = listing.schedules(now=NOW)
    assert [(one.pipeline, one.runs) for one in found] == [("hourly", True), ("daily", True), ("a-trial", False)]
    assert found[0].upcoming == [NOW + HOUR, NOW + 2 * HOUR, NOW + 3 * HOUR]
    assert found[2].upcoming == []


def test_an_empty_page_says_how_to_begin(viewer: Client) -> None:
    assert "Nothing runs by itself" in html(viewer, "/ui/schedules")


def test_the_page_shows_both_zones_the_last_run_and_why_one_is_off(tmp_path: Path, viewer: Client) -> None:
    loaded(tmp_path, schedule={**HOURLY, "cron": "30 6 * * *", "timezone": "Asia/Kolkata", "team": "reporting"})
    loaded(tmp_path, "trial", stage="testing")
    run_due(now=NOW + 24 * HOUR)
    text = html(viewer, "/ui/schedules")
    assert "At 06:30 every day" in text
    assert '01:00 <span class="faint nowrap">' in text  # 06:30 in India is 01:00 UTC
    assert "06:30 there" in text
    assert f"/ui/runs/{Run.objects.get().id}" in text
    assert "team <bdi>reporting</bdi>" in text
    assert "the pipeline's stage is testing" in text


def test_a_pipelines_own_page_shows_its_schedule(tmp_path: Path, viewer: Client) -> None:
    loaded(tmp_path)
    text = html(viewer, "/ui/pipelines/report")
    assert "0 * * * *" in text
    assert text.split('<ol class="ticks">')[1].split("</ol>")[0].count("<li>") == 3


def test_the_list_can_be_narrowed_by_name(tmp_path: Path, viewer: Client) -> None:
    loaded(tmp_path, "one")
    loaded(tmp_path, "two")
    text = html(viewer, "/ui/schedules?name=ON")
    assert "/ui/pipelines/one" in text
    assert "/ui/pipelines/two" not in text
    assert "No name contains" in html(viewer, "/ui/schedules?name=three")


def test_queries_do_not_grow_with_the_schedules(tmp_path: Path, viewer: Client, django_assert_num_queries: Any) -> None:
    for number in range(30):
        loaded(tmp_path, f"report-{number}", now=NOW - timedelta(seconds=number))
    run_due(now=NOW + HOUR)
    # session, user, roles, what waits for a person, pipelines, their last ticks with their runs
    with django_assert_num_queries(6):
        viewer.get("/ui/schedules")


def test_the_api_lists_schedules(tmp_path: Path, client: Client) -> None:
    loaded(tmp_path, schedule={**HOURLY, "team": "reporting"}, now=timezone.now() - 2 * HOUR)
    run_due(now=timezone.now())
    run = Run.objects.get()
    answer = client.get("/schedules", headers=bearer(Role.VIEWER))
    assert answer.status_code == 200
    [one] = answer.json()["schedules"]
    following = datetime.fromisoformat(one["next"][0])
    assert following.astimezone(UTC).minute == 0
    assert len(one.pop("next")) == 3
    assert one.pop("last")["run_id"] == str(run.id)
    assert one == {
        "pipeline": "report",
        "stage": "production",
        "cron": "0 * * * *",
        "timezone": "UTC",
        "summary": "The hour is full",
        "severity": "low",
        "labels": {"kind": "report"},
        "team": "reporting",
        "runs": True,
    }


def test_a_removed_run_leaves_its_tick(tmp_path: Path, client: Client, viewer: Client) -> None:
    loaded(tmp_path)
    run_due(now=NOW + HOUR)
    Run.objects.all().delete()
    [one] = client.get("/schedules", headers=bearer(Role.VIEWER)).json()["schedules"]
    assert one["last"] == {"due_at": "2026-03-01T13:00:00Z", "run_id": None, "status": None}
    assert "the run was removed" in html(viewer, "/ui/schedules")
