import datetime as dt
import re
import uuid
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from runs.ids import new_id
from runs.models import Team
from tests import factories

pytestmark = pytest.mark.django_db


def ids_shown(response: Any) -> list[str]:
    return re.findall(r'id="row-([0-9a-f-]{36})"', response.content.decode())


def test_nobody_sees_runs_without_signing_in() -> None:
    response = Client().get("/ui/runs")
    assert response.status_code == 302
    assert response.url == "/ui/login?next=/ui/runs"


def test_a_person_without_a_role_is_refused_in_words() -> None:
    client = Client()
    client.force_login(factories.User.objects.create_user("norole"))
    response = client.get("/ui/runs")
    assert response.status_code == 403
    assert "needs the role viewer" in response.content.decode()


def test_newest_first_in_pages_of_fifty_without_gap_or_repeat(viewer: Client) -> None:
    made = [str(factories.run().id) for _ in range(120)]
    seen: list[str] = []
    address: str | None = "/ui/runs"
    while address:
        response = viewer.get(address)
        seen += ids_shown(response)
        older = re.search(r'href="(\?[^"]*before=[^"]*)"', response.content.decode())
        address = "/ui/runs" + unescape(older[1]) if older else None
    assert seen == sorted(made, reverse=True)


def test_newer_leads_back_to_the_page_one_came_from(viewer: Client) -> None:
    made = sorted((str(factories.run().id) for _ in range(120)), reverse=True)
    response = viewer.get("/ui/runs", {"after": made[100]})
    assert ids_shown(response) == made[50:100]


def test_filters_narrow_and_combine(viewer: Client) -> None:
    Team.objects.create(name="payments", created_at=factories.NOW)
    Team.objects.create(name="search", created_at=factories.NOW)
    factories.pipeline("checkout-error-rate")
    wanted = factories.run(status="failed", team="payments")
    factories.run(status="failed", team="search")
    factories.run(status="completed", team="payments")
    response = viewer.get("/ui/runs", {"status": "failed", "team": "payments", "pipeline": "checkout-error-rate"})
    assert ids_shown(response) == [str(wanted.id)]


def test_period_goes_by_when_the_run_was_triggered(viewer: Client) -> None:
    recent = factories.run(now=timezone.now() - dt.timedelta(minutes=5))
    factories.run(now=timezone.now() - dt.timedelta(hours=2))
    assert ids_shown(viewer.get("/ui/runs", {"period": "1h"})) == [str(recent.id)]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"status": "fail"}, "Allowed: queued, running, completed, stopped, escalated, aborted, failed, cancelled."),
        ({"stage": "prod"}, "Allowed: testing, production."),
        ({"period": "2h"}, "Allowed: 1h, 24h, 7d, 30d."),
        ({"pipeline": "checkout-eror-rate"}, "Allowed: checkout-error-rate."),
        ({"team": "x"}, "There are none yet."),
        ({"statsu": "failed"}, "There is no parameter “statsu”. It takes: status, pipeline,"),
        ({"q": "xyz"}, "up to 32 hex digits"),
        ({"before": "1"}, "before must be a run id."),
        ({"before": str(new_id()), "after": str(new_id())}, "exclude each other"),
    ],
)
def test_a_value_that_is_not_known_is_refused_with_the_allowed_ones(
    viewer: Client, query: dict[str, str], told: str
) -> None:
    factories.pipeline("checkout-error-rate")
    response = viewer.get("/ui/runs", query)
    assert response.status_code == 400
    assert told in unescape(response.content.decode())


def test_a_repeated_filter_is_refused(viewer: Client) -> None:
    response = viewer.get("/ui/runs?status=failed&status=completed")
    assert response.status_code == 400
    assert "status is given more than once" in response.content.decode()


def test_the_beginning_of_an_id_finds_its_runs_and_a_single_one_opens(viewer: Client) -> None:
    first = factories.run(id=uuid.UUID("0192f3ab-0000-7000-8000-000000000001"))
    factories.run(id=uuid.UUID("0192f3ab-0000-7000-8000-000000000002"))
    factories.run(id=uuid.UUID("0192f3ac-0000-7000-8000-000000000003"))
    assert len(ids_shown(viewer.get("/ui/runs", {"q": "0192F3AB"}))) == 2
    response = viewer.get("/ui/runs", {"q": str(first.id)})
    assert response.status_code == 302
    assert response.url == f"/ui/runs/{first.id}"


def test_an_empty_list_says_what_to_do_next(viewer: Client) -> None:
    text = viewer.get("/ui/runs").content.decode()
    assert "No runs yet" in text
    assert "curl -X POST" in text


def test_refresh_keeps_the_rows_asked_for_and_counts_newer_ones(viewer: Client) -> None:
    old = factories.run(status="running")
    shown = factories.run(status="running")
    factories.run()
    response = viewer.get("/ui/runs/rows", {"ids": f"{shown.id},{old.id}", "top": str(shown.id), "status": "running"})
    text = response.content.decode()
    assert ids_shown(response) == [str(shown.id), str(old.id)]
    assert "newer run" not in text  # the newer one is completed, the list shows running ones
    response = viewer.get("/ui/runs/rows", {"ids": str(shown.id), "top": str(shown.id)})
    assert "1 newer run" in response.content.decode()


@pytest.mark.parametrize("query", ["ids=x", "ids=" + ",".join([str(uuid.uuid4())] * 51), "top=x", "status=bad"])
def test_refresh_refuses_what_the_page_would_never_ask(viewer: Client, query: str) -> None:
    assert viewer.get(f"/ui/runs/rows?{query}").status_code == 400


def test_the_number_of_queries_does_not_grow_with_the_runs(viewer: Client, django_assert_num_queries: Any) -> None:
    for _ in range(60):
        factories.step(factories.run())
    # session, user, roles, pipelines, teams, runs, sources, their steps
    with django_assert_num_queries(9):
        viewer.get("/ui/runs")


def test_what_a_sender_wrote_is_never_markup(viewer: Client) -> None:
    factories.run(summary="<script>alert(1)</script>", team="<b>x</b>")
    text = viewer.get("/ui/runs").content.decode()
    assert "<script>alert(1)" not in text
    assert "<b>x</b>" not in text
