"""A person approves in a real browser, and a real worker carries the run on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from runs.escalations import links
from runs.models import Approval
from tests.browser.test_pages import complaints
from tests.pipelines import Pipelines, human, step
from tests.services import Process


@pytest.fixture
def pipelines(settings: Any, tmp_path: Path, stack_env: dict[str, str]) -> Pipelines:
    settings.PIPELINES_DIR = tmp_path / "pipelines"
    settings.STEPS_DIR = tmp_path / "steps"
    return Pipelines(settings.PIPELINES_DIR)


def test_a_run_is_approved_with_the_keyboard_and_completed_by_a_worker(
    site: str, page: Any, console: list[str], worker: Callable[..., Process], pipelines: Pipelines
) -> None:
    after = step("after", prompt_template="{{ steps.ask.by }}: {{ steps.ask.reason }}")
    pipelines.write("p", human(message="Restart it?", timeout_seconds=600), after)
    run = pipelines.run("p")
    worker()

    page.goto(f"{site}/ui/runs/{run.id}")
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.locator("h1", has_text="Approvals").wait_for()
    page.get_by_role("link", name="ask", exact=True).click()
    page.locator("text=Restart it?").wait_for()
    assert complaints(page, "the approval") == []
    page.locator("#d-approve").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("the window is open")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".toasts", has_text="Approved: the run goes on.").wait_for()

    page.goto(f"{site}/ui/runs/{run.id}")
    page.locator("h1 .pill:has-text('Completed')").wait_for()
    assert run.steps.get(name="after").prompt == "olga: the window is open"
    assert console == []


def test_a_link_decides_without_a_login(site: str, chromium: Any, pipelines: Pipelines, settings: Any) -> None:
    settings.PUBLIC_URL = site
    pipelines.write("p", human(message="Restart it?"), step("after"), links={"without_login": True})
    asked = Approval.objects.get(run=pipelines.run("p"))
    made = links.decision_links(approval=asked, sent_to="ann", now=timezone.now())
    context = chromium.new_context()
    stranger = context.new_page()
    stranger.goto(made["reject"])
    stranger.get_by_role("button", name="Reject").click()
    stranger.locator("h1", has_text="Rejected").wait_for()
    asked.refresh_from_db()
    assert (asked.state, asked.closed_by) == ("rejected", "link sent to ann")
    stranger.goto(made["approve"])
    stranger.locator("h1", has_text="Decided already").wait_for()
    context.close()
