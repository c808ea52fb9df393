"""Where things stand on every page: in order, within a phone, large enough to touch, and not moving as it loads."""

from itertools import pairwise
from typing import Any

import pytest

from tests.browser.insights_pages import measured
from tests.browser.test_pages import addresses

# Before the page's own scripts, so that what they move counts too.
WATCH = """
window.moved = 0;
new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.moved += entry.value; })
  .observe({ type: "layout-shift", buffered: true });
"""
MEASURE = """() => {
  const shown = (item) => item.getBoundingClientRect().width > 1;
  const small = (item) => {
    const { width, height } = item.getBoundingClientRect();
    return shown(item) && (width < 24 || height < 24);
  };
  const inText = (item) => item.closest("p, dd, li, td, .crumb");
  return {
    wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    headings: [...document.querySelectorAll("h1, h2, h3, h4")].filter(shown).map((item) => Number(item.tagName[1])),
    small: [...document.querySelectorAll("a, button, input, select, textarea, summary")]
      .filter((item) => small(item) && !inText(item)).map((item) => item.outerHTML.slice(0, 100)),
  };
}"""
OPEN_ALL = "for (const item of document.querySelectorAll('details')) item.open = true"


def faults(measured: dict[str, Any]) -> list[str]:
    headings = measured["headings"]
    found = [f"too small to touch: {item}" for item in measured["small"]]
    if measured["wider"] > 0:
        found.append(f"{measured['wider']} px wider than the window")
    if headings.count(1) > 1 or any(after > before + 1 for before, after in pairwise(headings)):
        found.append(f"headings out of order: {headings}")
    return found


def test_on_a_phone_every_page_fits_and_can_be_touched(site: str, page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    found = {}
    for address in addresses():
        page.goto(site + address)
        page.evaluate(OPEN_ALL)
        found[address] = faults(page.evaluate(MEASURE))
    assert {address: what for address, what in found.items() if what} == {}


@pytest.mark.parametrize("width", [768, 1010])
def test_no_page_is_wider_than_a_tablet_or_half_a_screen(site: str, page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    wider = {}
    for address in [*addresses(), *measured()]:
        page.goto(site + address)
        wider[address] = page.evaluate(MEASURE)["wider"]
    assert {address: by for address, by in wider.items() if by > 0} == {}


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_moves_while_a_page_loads(site: str, page: Any, width: int) -> None:
    page.add_init_script(WATCH)
    page.set_viewport_size({"width": width, "height": 844})
    moved = {}
    for address in addresses():
        page.goto(site + address)
        page.wait_for_function("document.readyState === 'complete'")
        # Two frames: the shifts of the first are reported in the second.
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        moved[address] = page.evaluate("window.moved")
    assert {address: by for address, by in moved.items() if by > 0.01} == {}
