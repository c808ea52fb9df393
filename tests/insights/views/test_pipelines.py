from html import unescape
from typing import Any

import pytest
from django.test import Client

from tests import factories

pytestmark = pytest.mark.django_db


def html(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status
    return unescape(response.content.decode())


def test_insights_opens_on_its_first_section(viewer: Client) -> None:
    assert viewer.get("/ui/insights").status_code == 302
    assert viewer.get("/ui/insights", follow=True).status_code == 200


def test_an_unknown_period_is_400_and_says_what_is_allowed(viewer: Client) -> None:
    assert "Allowed: 24h, 7d, 30d, all" in html(viewer, "/ui/insights/pipelines?period=1w", status=400)


def test_without_runs_it_says_what_will_stand_here(viewer: Client) -> None:
    assert "Nothing ran in the last 7 days" in html(viewer, "/ui/insights/pipelines")


def test_success_names_how_many_runs_it_is_about(viewer: Client) -> None:
    for status in ("completed", "completed", "escalated", "failed", "aborted"):
        factories.run(status=status)
    text = html(viewer, "/ui/insights/pipelines")
    # 3 of the 4 that succeeded or failed
    assert "75%" in text
    assert "of 4," in text
    assert "no marks yet" in text


def test_the_number_of_queries_does_not_grow(viewer: Client, django_assert_num_queries: Any) -> None:
    for n in range(12):
        factories.run(version=factories.version(f"p{n}"))
    # session, user, roles, the window, runs, labels
    with django_assert_num_queries(6):
        viewer.get("/ui/insights/pipelines")
