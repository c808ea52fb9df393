"""Insights of steps in a real browser: charts that draw, a threshold that moves, points that lead to runs."""

from typing import Any

import pytest

from tests.browser.insights_pages import STEP, measured
from tests.browser.test_layout import MEASURE, OPEN_ALL, faults
from tests.browser.test_pages import complaints

CHARTS = ("reliability-chart", "threshold-chart", "shown-time", "shown-scatter")


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_every_page_can_be_used_by_everyone(site: str, page: Any, console: list[str], theme: str, width: int) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    found = {}
    for address in measured():
        page.goto(site + address)
        page.evaluate(OPEN_ALL)
        page.wait_for_timeout(300)
        layout = faults(page.evaluate(MEASURE)) if width == 390 else []
        found[address] = [*complaints(page, address), *layout]
    assert {address: what for address, what in found.items() if what} == {}
    assert console == []


def test_all_charts_are_drawn_and_a_point_leads_to_the_runs_behind_it(site: str, page: Any) -> None:
    measured()
    page.goto(f"{site}/ui/insights/steps/{STEP}")
    for chart in CHARTS:
        page.wait_for_selector(f"#{chart} .scatterlayer .trace")
    # The bin of 90 to 100 % is the only one that claims more than it holds.
    point = page.evaluate(
        "() => { const box = document.getElementById('reliability-chart');"
        " const at = box.data[1].marker.symbol.indexOf('triangle-down');"
        " const paths = box.querySelectorAll('.scatterlayer .trace')[1].querySelectorAll('.points path');"
        " const { x, y, width, height } = paths[paths.length - 1].getBoundingClientRect();"
        " return { at, x: x + width / 2, y: y + height / 2 }; }"
    )
    assert point["at"] == 9
    page.mouse.move(point["x"], point["y"])
    page.mouse.click(point["x"], point["y"])
    page.wait_for_url("**/ui/insights/samples?*bin=9*")
    assert "saying 90 to 100%" in page.inner_text("h1")


def test_moving_the_threshold_says_what_it_would_have_done(site: str, page: Any) -> None:
    measured()
    page.goto(f"{site}/ui/insights/steps/{STEP}")
    page.wait_for_selector("#threshold-chart .scatterlayer .trace")
    told = page.locator("#threshold-told")
    # 22 at 55 % and 2 at 30 % of all 73
    assert told.inner_text().startswith("At 75%, 24 of 73 answers")
    page.focus("#threshold")
    for _ in range(11):
        page.keyboard.press("ArrowRight")
    assert page.inner_text("#threshold-value") == "86%"
    # and the 20 at 85 %, none of which was wrong: 16 at 95 % were, one at 30 %
    assert told.inner_text().startswith("At 86%, 44 of 73 answers")
    assert "1 of the 17 wrong ones" in told.inner_text()


def test_the_same_can_be_read_without_scripts(site: str, page: Any, chromium: Any) -> None:
    measured()
    context = chromium.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{site}/ui/insights/steps/{STEP}")
    assert plain.inner_text("#threshold-told").startswith("At 75%, 24 of 73 answers")
    assert not plain.locator("#threshold").is_visible()
    plain.click("table.bins >> text='20'")
    assert "saying 80 to 90%" in plain.inner_text("h1")
    context.close()
