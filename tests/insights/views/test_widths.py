"""A service whose bins are finer than any page can draw."""

from typing import Any

import pytest
from django.test import Client

from tests import factories
from tests.insights.history import STEP, answer, answers, key
from tests.insights.views.reading import html

pytestmark = pytest.mark.django_db
PAGES = [
    "/ui/insights/steps",
    f"/ui/insights/steps/{STEP}",
    f"/ui/insights/steps/{STEP}/versions",
    "/ui/agents/command:assess",
]
NOTE = "Drawn in bins of 5 points. The gate looks up bins of 0.1"


def history(steps: int) -> None:
    """Many steps, each with three records, and one of them with many."""
    olga = factories.user()
    for number in range(steps):
        for version in ("v1", "v2", "v3"):
            bucket = key(step=f"step-{number}", agent_version=version)
            for tenth in range(10):
                answers("c", tenth / 10 + 0.02, by=olga, bucket=bucket)
    for number in range(40):
        answer(key(agent_version=f"v{number}"), marks={olga: "correct"})


@pytest.mark.parametrize("address", PAGES)
def test_a_page_stays_small_and_says_in_what_bins_it_is_drawn(viewer: Client, service: Any, address: str) -> None:
    service(calibration={"bin_width": 0.001, "n_min": 4})
    history(20)
    text = html(viewer, address)
    assert len(text.encode()) < 500_000
    assert NOTE in text
    assert "85 to 90%" in text


def test_nothing_is_said_where_pages_draw_what_the_gate_looks_up(viewer: Client, service: Any) -> None:
    service(calibration={"bin_width": 0.04})
    answers("c", 0.95, by=factories.user())
    assert not any("Drawn in bins" in html(viewer, address) for address in PAGES)
    assert "92 to 96%" in html(viewer, PAGES[0])


def test_a_cell_leads_to_its_answers_whatever_the_width_of_the_service(viewer: Client, service: Any) -> None:
    service(calibration={"bin_width": 0.001})
    step = answers("c", 0.95, by=factories.user())[0]
    address = (
        html(viewer, PAGES[0]).split('<svg class="strip"')[1].split('<a href="/ui/insights/samples?')[1].split('"')[0]
    )
    text = html(viewer, f"/ui/insights/samples?{address}")
    assert "saying 95 to 100%" in text
    assert str(step.run_id) in text
