"""Marking by keyboard alone, blind until the mark, with a colleague who is never given the same step."""

from collections.abc import Iterator
from typing import Any

import pytest

from calibration import buckets
from calibration.models import Mark
from runs.models import QueueItem
from tests import factories
from tests.runs.views.marking import waiting

OUTCOMES = {"1": "correct", "2": "partial", "3": "incorrect"}


@pytest.fixture(autouse=True)
def _forget_bucket_ids() -> Iterator[None]:
    yield
    buckets.forget_ids()


@pytest.fixture
def ben(site: str, chromium: Any) -> Iterator[Any]:
    """The page of a second person, in a browser of their own."""
    factories.user("ben", role="marker")
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(f"{site}/ui/marking-queue")
    page.fill("#id_username", "ben")
    page.fill("#id_password", "secret")
    page.click("text=Sign in")
    page.wait_for_selector("h1:has-text('Marking queue')")
    yield page
    context.close()


def press(page: Any, key: str) -> None:
    """A key that leads to another page, and that page."""
    with page.expect_navigation():
        page.keyboard.press(key)


def step_on(page: Any) -> str:
    return str(page.url).partition("?")[0].rpartition("/")[2]


def the_work(page: Any) -> str:
    return str(page.inner_text(".work"))


def begin_by_keyboard(page: Any, site: str) -> None:
    page.goto(f"{site}/ui/runs")
    page.keyboard.press("g")
    press(page, "m")
    page.focus("[data-start]")
    press(page, "Enter")


def test_twenty_steps_are_marked_by_keyboard_alone_with_one_undo(site: str, page: Any, console: list[str]) -> None:
    for number in range(20):
        waiting(f"step-{number % 3}")
    begin_by_keyboard(page, site)
    given = {}
    for number in range(20):
        step, key = step_on(page), "123"[number % 3]
        assert "97%" not in the_work(page)
        assert "[hidden] confident" in the_work(page)
        press(page, key)
        given[step] = OUTCOMES[key]
        if number == 7:
            press(page, "u")
            assert step_on(page) == step
            assert "97%" in the_work(page)  # its scores had been shown
            page.keyboard.press("n")
            page.keyboard.type("on 2nd look: 3 errors, u see")  # letters and digits in a note are no keys
            page.keyboard.press("Escape")
            press(page, "2")
            given[step] = "partial"
    assert page.inner_text("h1") == "All done"
    current = Mark.objects.filter(is_current=True)
    assert {str(mark.sample_id): mark.outcome for mark in current} == given
    assert len(given) == 20
    assert list(current.exclude(was_blind=True).values_list("note", flat=True)) == ["on 2nd look: 3 errors, u see"]
    assert Mark.objects.filter(undone_at__isnull=False).count() == 1
    assert not QueueItem.objects.exists()
    assert console == []


def test_reload_and_back_stay_on_their_step(site: str, page: Any) -> None:
    for _ in range(3):
        waiting()
    begin_by_keyboard(page, site)
    first = step_on(page)
    page.reload()
    assert step_on(page) == first
    assert "97%" not in the_work(page)
    press(page, "1")
    second = step_on(page)
    facts = page.inner_text(".facts-card")
    assert "50%" in facts
    page.reload()
    assert step_on(page) == second
    assert page.inner_text(".facts-card") == facts
    page.go_back()
    assert step_on(page) == first
    assert "97%" in the_work(page)  # marked: the page tells how it stands now
    page.go_forward()
    assert step_on(page) == second
    assert "97%" not in the_work(page)


def test_j_and_k_move_and_s_skips(site: str, page: Any) -> None:
    for _ in range(3):
        waiting()
    begin_by_keyboard(page, site)
    first = step_on(page)
    press(page, "j")
    second = step_on(page)
    press(page, "k")
    assert step_on(page) == first
    press(page, "j")
    assert step_on(page) == second
    press(page, "s")
    assert step_on(page) not in {first, second}
    assert not Mark.objects.exists()


def test_a_colleague_never_sees_the_step_one_has_open(site: str, page: Any, ben: Any) -> None:
    for _ in range(6):
        waiting()
    seen: dict[str, set[str]] = {"olga": set(), "ben": set()}
    begin_by_keyboard(page, site)
    ben.reload()
    ben.click("[data-start]")
    for _ in range(3):
        for name, browser in (("olga", page), ("ben", ben)):
            seen[name].add(step_on(browser))
            assert step_on(page) != step_on(ben)
            press(browser, "1")
    assert seen["olga"] & seen["ben"] == set()
    assert page.inner_text("h1").startswith("1 left, locked by a colleague until ")  # ben had not marked his last
    page.reload()
    assert page.inner_text("h1") == ben.inner_text("h1") == "All done"
    assert Mark.objects.count() == 6


def test_what_is_left_with_a_colleague_is_told_with_the_time(site: str, page: Any, ben: Any) -> None:
    waiting(), waiting()
    ben.reload()
    ben.click("[data-start]")
    begin_by_keyboard(page, site)
    press(page, "3")
    assert page.inner_text("h1").startswith("1 left, locked by a colleague until ")
    page.goto(f"{site}/ui/marking-queue/{step_on(ben)}")
    assert "A colleague has this one in front of them" in page.inner_text(".judge")
    page.keyboard.press("1")
    page.wait_for_timeout(200)
    assert Mark.objects.count() == 1


def test_a_key_held_down_or_pressed_twice_marks_one_step(site: str, page: Any) -> None:
    for _ in range(4):
        waiting()
    begin_by_keyboard(page, site)
    with page.expect_navigation():
        page.keyboard.down("1")
        page.keyboard.down("1")
    page.keyboard.up("1")
    page.wait_for_load_state()
    assert Mark.objects.count() == 1


def test_marking_works_without_scripts(site: str, page: Any, chromium: Any) -> None:
    waiting()
    context = chromium.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{site}/ui/marking-queue")
    plain.click("text=Start marking")
    plain.fill("#note", "as it should be")
    plain.click("text=Correct")
    assert plain.inner_text("h1") == "All done"
    assert Mark.objects.get().note == "as it should be"
    context.close()


def test_a_selection_is_asked_about_in_a_dialog_with_its_number(site: str, page: Any, console: list[str]) -> None:
    for _ in range(3):
        waiting("pay")
    waiting("assess")
    page.goto(f"{site}/ui/marking-queue?step=pay")
    page.click("text=Mark all at once")
    page.wait_for_selector("dialog[open] >> text=Mark all 3 steps at once?")
    page.check("dialog >> text=Partial")
    page.click("dialog >> text=Mark 3 steps")
    page.wait_for_selector("h1:text-is('3 steps marked partial')")
    assert Mark.objects.filter(outcome="partial").count() == 3
    assert console == []
