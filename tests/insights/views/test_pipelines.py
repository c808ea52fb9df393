import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from runs.models import Pipeline
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


@pytest.mark.parametrize("period", ["24h", "all"])
def test_the_number_of_runs_leads_to_them(viewer: Client, period: str) -> None:
    name = "a & b/c"
    mine, other = (factories.run(version=factories.pipeline(one).version) for one in (name, "d"))
    [cell] = [row for row in html(viewer, f"/ui/insights/pipelines?period={period}").split("<tr>") if name in row]
    text = html(viewer, re.findall(r'Runs</span><a href="([^"]+)">1<', cell)[0])
    assert (str(mine.id) in text, str(other.id) in text) == (True, False)


def test_the_number_of_queries_does_not_grow(viewer: Client, django_assert_num_queries: Any) -> None:
    for n in range(12):
        factories.run(version=factories.version(f"p{n}"))
    # session, user, roles, the window, runs, labels, tokens
    with django_assert_num_queries(8):
        viewer.get("/ui/insights/pipelines")


def test_tokens_and_time_are_means_over_the_runs_that_have_them(viewer: Client) -> None:
    # 41 seconds each, but for the one on its way; tokens: (100 + 20 + 40) and (200 + 80) over two runs
    first, second, third = factories.run(), factories.run(), factories.run(status="running")
    factories.step(first, "a", input_tokens=100, output_tokens=20)
    factories.step(first, "b", input_tokens=40)
    factories.step(second, "a", input_tokens=200, output_tokens=80)
    factories.step(third, "a")
    text = html(viewer, "/ui/insights/pipelines")
    assert "Tokens each</span>220<" in text
    assert "Time each</span>41 s<" in text


def test_where_nothing_is_told_there_is_no_number(viewer: Client) -> None:
    factories.step(factories.run(status="running"), "a")
    text = html(viewer, "/ui/insights/pipelines")
    assert "not told" in text
    assert "none yet" in text


@pytest.mark.parametrize("name", ["shop/checkout", "a//b", "odd?#<b>"])
def test_a_name_with_slashes_has_its_page_and_breaks_no_list(viewer: Client, name: str) -> None:
    run = factories.run(pipeline_name=name)
    Pipeline.objects.create(
        file="gone",
        name=name,
        version=run.version,
        present=False,
        loaded_at=run.triggered_at,
        changed_at=run.triggered_at,
    )
    page = reverse("ui-pipeline", args=[name])
    assert name in html(viewer, page)
    for address in ("/ui/insights/pipelines?period=all", "/ui/pipelines", f"/ui/runs/{run.id}"):
        assert f'href="{page}' in viewer.get(address).content.decode()
