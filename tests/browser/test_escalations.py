"""A person decides in a real browser, and a real worker carries the run on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from runs.models import Decision, Escalation, Run
from tests import factories
from tests.browser.test_pages import complaints, trusted
from tests.pipelines import Pipelines, step
from tests.services import Process

ANSWER = {"confidence": 0.5, "summary": "the disk", "next_step_context": "", "amount": 40}


@pytest.fixture
def pipelines(settings: Any, tmp_path: Path, stack_env: dict[str, str]) -> Pipelines:
    settings.PIPELINES_DIR = tmp_path / "pipelines"
    settings.STEPS_DIR = tmp_path / "steps"
    return Pipelines(settings.PIPELINES_DIR)


def waiting() -> Escalation:
    run = factories.run(status="escalated", now=timezone.now(), version=trusted())
    return factories.escalation(factories.gated(run, factories.worked_example()))


def test_a_run_is_revised_resumed_and_completed_with_the_revision_downstream(
    site: str, page: Any, console: list[str], worker: Callable[..., Process], pipelines: Pipelines
) -> None:
    pay = step("pay", prompt_template="Pay {{ steps.act.amount }} for {{ steps.act.summary }}.")
    pipelines.write("p", step("act", says=ANSWER, escalation={"to": "desk"}), pay)
    run = pipelines.run("p")
    worker()

    page.goto(f"{site}/ui/")
    page.get_by_role("link", name="Escalations 1 waiting").click()
    page.get_by_role("link", name="act", exact=True).click()
    assert page.locator(".big").inner_text() == "50%"
    page.get_by_role("link", name="Revise the answer").click()
    page.get_by_label("amount").fill("thirty")
    page.get_by_role("button", name="See what changes").click()
    page.locator(".problem", has_text="This is not JSON").wait_for()
    page.get_by_label("amount").fill("30")
    page.get_by_label("summary").fill("the network")
    page.get_by_role("button", name="See what changes").click()
    page.locator("text=What you change").wait_for()
    assert page.locator("#changes pre").all_inner_texts() == ["the disk", "the network", "40", "30"]
    assert complaints(page, "the changes") == []
    page.get_by_label("Reason").fill("saw the router")
    page.get_by_role("button", name="Record it and go on").click()
    page.locator(".toasts", has_text="Revised: the run goes on with your version.").wait_for()

    page.goto(f"{site}/ui/runs/{run.id}")
    page.locator("h1 .pill:has-text('Completed')").wait_for()
    panel = page.locator("article[data-step='act']")
    assert panel.locator(".changes pre").all_inner_texts() == ["the disk", "the network", "40", "30"]
    assert "saw the router" in panel.inner_text()
    pay_panel = page.locator("article[data-step='pay']")
    pay_panel.locator("summary", has_text="Asked and answered").click()
    assert "Pay 30 for the network." in pay_panel.inner_text()
    run.refresh_from_db()
    assert (run.status, run.steps.get(name="act").parsed_output) == ("completed", ANSWER)
    assert [line for line in console if "status of 400" not in line] == []  # "thirty" was refused with one


def test_it_is_approved_with_the_keyboard_alone(site: str, page: Any) -> None:
    one = waiting()
    page.goto(f"{site}/ui/escalations/{one.id}")
    page.locator("#d-approve").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#d-to").is_visible()
    page.keyboard.press("ArrowUp")
    assert page.locator("#d-to").is_hidden()
    page.keyboard.press("Tab")
    page.keyboard.type("fine by me")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("h1 .pill:has-text('Approved')").wait_for()
    assert Decision.objects.get().reason == "fine by me"


def test_nothing_is_sent_without_a_decision_and_a_reason(site: str, page: Any) -> None:
    page.goto(f"{site}/ui/escalations/{waiting().id}")
    page.get_by_role("button", name="Decide").click()
    page.locator("#d-abort").check()
    page.get_by_role("button", name="Decide").click()
    assert page.locator("#d-reason").evaluate("field => field.validity.valueMissing")
    assert not Decision.objects.exists()


def test_the_second_of_two_people_is_told_who_was_first(site: str, page: Any, chromium: Any) -> None:
    one = waiting()
    context = chromium.new_context(storage_state=page.context.storage_state())
    other = context.new_page()
    for each in (page, other):
        each.goto(f"{site}/ui/escalations/{one.id}")
    page.locator("#d-escalate").check()
    page.fill("#d-to", "leads")
    page.fill("#d-reason", "not mine")
    page.click("button:has-text('Decide')")
    page.locator(".toasts", has_text="Handed on.").wait_for()
    other.locator("#d-approve").check()
    other.fill("#d-reason", "fine")
    other.click("button:has-text('Decide')")
    other.locator(".toasts", has_text="This was handed on to leads by olga meanwhile.").wait_for()
    assert list(Decision.objects.values_list("kind", flat=True)) == ["escalate"]
    context.close()


def test_deciding_works_without_scripts(site: str, page: Any, chromium: Any) -> None:
    one = waiting()
    context = chromium.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{site}/ui/escalations")
    plain.click("a.row-link")
    plain.click("text=Revise the answer")
    plain.fill("textarea[name=value] >> nth=0", "Roll it back.")
    plain.click("text=See what changes")
    plain.fill("#reason", "seen")
    plain.click("text=Record it and go on")
    plain.locator("h1 .pill:has-text('Revised')").wait_for()
    assert Run.objects.get(id=one.run_id).status == "running"
    context.close()
