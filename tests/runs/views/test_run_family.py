"""A run within a run: each page leads to the other."""

import pytest
from django.test import Client
from django.urls import reverse

from tests import factories
from tests.runs.views.test_run_page import text_of, words

pytestmark = pytest.mark.django_db


def family():
    outer = factories.run(pipeline_name="outer", status="running")
    step = factories.step(outer, name="sub", executor="pipeline", status="pending", awaited=1)
    inner = factories.run(pipeline_name="inner", status="escalated", reason="look is trusted 20%.", parent_step=step)
    return outer, step, inner


def test_the_waiting_step_leads_to_its_run_and_tells_how_that_stands(viewer: Client) -> None:
    outer, _step, inner = family()
    html = text_of(viewer, f"/ui/runs/{outer.id}")
    assert "Waiting for the run of another pipeline to end." in html
    assert f'href="{reverse("ui-run", args=[inner.id])}"' in html
    assert "look is trusted 20%." in words(html)


def test_the_run_leads_to_the_step_it_is_part_of(viewer: Client) -> None:
    outer, _step, inner = family()
    html = text_of(viewer, f"/ui/runs/{inner.id}")
    assert "Part of outer , step sub" in words(html)
    assert f'href="{reverse("ui-run", args=[outer.id])}"' in html


def test_the_api_names_the_step(viewer: Client) -> None:
    _outer, step, inner = family()
    assert viewer.get(f"/runs/{inner.id}").json()["parent_step_id"] == str(step.id)


def test_runs_of_many_tries_cost_one_query(viewer: Client, django_assert_max_num_queries) -> None:
    outer, step, _inner = family()
    with django_assert_max_num_queries(40) as few:
        viewer.get(f"/ui/runs/{outer.id}")
    for _ in range(30):
        factories.run(pipeline_name="inner", status="failed", parent_step=step)
    with django_assert_max_num_queries(len(few.captured_queries)):
        html = text_of(viewer, f"/ui/runs/{outer.id}")
    assert html.count("of <bdi>inner</bdi>") == 20
