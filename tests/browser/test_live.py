"""Pages that stay current: the run page as its run goes on, and the rows of the runs list."""

from typing import Any

from django.utils import timezone

from runs.models import Run, RunEvent, Step
from tests import factories


def say(run: Run, message: str, kind: str = "agent.text", step: str = "") -> RunEvent:
    return factories.event(run, message, kind=kind, step_name=step, at=timezone.now())


def test_the_run_page_follows_its_run(site: str, page: Any, console: list[str]) -> None:
    run = factories.run(status="running", now=timezone.now())
    page.goto(f"{site}/ui/runs/{run.id}")
    page.wait_for_selector("#live:not([hidden])")

    step = factories.step(run, status="running", parsed_output=None, raw_output="")
    say(run, "begins", "step.started", step.name)
    panel = page.locator(f"article[data-step='{step.name}']")
    panel.wait_for()
    panel.locator("summary", has_text="Step configuration").click()

    Step.objects.filter(id=step.id).delete()
    factories.gated(run, factories.worked_example(), id=step.id)
    say(run, "decided", "step.decided", step.name)
    panel.locator(".big").wait_for()
    assert panel.locator("details[id^=config]").get_attribute("open") is not None  # what was open stays open

    for number in range(60):
        say(run, f"line {number}")
    page.wait_for_selector("text=line 59")
    log = page.locator("#log")
    assert log.evaluate("log => log.scrollHeight - log.scrollTop - log.clientHeight") < 2  # at the end it follows
    log.evaluate("log => { log.scrollTop = 100 }")
    say(run, "one more")
    page.wait_for_selector("text=one more", state="attached")
    assert log.evaluate("log => log.scrollTop") == 100  # a reader is not pulled away
    assert page.locator("#follow").is_visible()

    Run.objects.filter(id=run.id).update(status="completed", completed_at=timezone.now())
    say(run, "over", "run.ended")
    page.wait_for_selector("h1 .pill:has-text('Completed')")
    assert page.locator("#live").is_hidden()
    assert page.inner_text("#announce") == "The run has ended"
    assert not page.locator("text=Cancel run").is_visible()
    assert page.locator(".log-line").count() == 64  # each line once
    assert console == []


def test_steps_that_change_while_their_panels_are_on_their_way_get_one_each(site: str, page: Any) -> None:
    run = factories.run(status="running", now=timezone.now())
    page.goto(f"{site}/ui/runs/{run.id}")
    page.wait_for_selector("#live:not([hidden])")
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route("**/step?name=*", hold)

    steps = [factories.gated(run, factories.worked_example(), name, index=n) for n, name in enumerate(("one", "two"))]
    for step in steps:
        with page.expect_request("**/step?name=*"):
            say(run, "begins", "step.started", step.name)
    for step in steps:
        say(run, "decided", "step.decided", step.name)
    Run.objects.filter(id=run.id).update(status="completed", completed_at=timezone.now())
    say(run, "over", "run.ended")
    page.wait_for_selector("h1 .pill:has-text('Completed')")

    assert len(held) == 2
    for route, step in zip(held, steps, strict=True):
        with page.expect_response(
            f"**/ui/steps/{step.id}"
        ):  # what changed meanwhile is asked for once the panel is there
            route.continue_()
    assert page.locator("article.panel").count() == 2


def test_rows_change_in_place_and_newer_runs_wait_to_be_asked_for(site: str, page: Any, console: list[str]) -> None:
    runs = [factories.run(status="running", now=timezone.now()) for _ in range(3)]
    page.goto(f"{site}/ui/runs")
    before = page.locator(f"#row-{runs[0].id}").bounding_box()
    page.locator(f"#link-{runs[0].id}").focus()
    Run.objects.filter(id=runs[0].id).update(status="completed", completed_at=timezone.now())
    factories.run(status="running", now=timezone.now())
    page.evaluate("htmx.trigger('tbody', 'refresh')")
    page.wait_for_selector(f"#row-{runs[0].id} .pill:has-text('Completed')")
    assert page.locator(f"#row-{runs[0].id}").bounding_box() == before
    assert page.evaluate("document.activeElement.id") == f"link-{runs[0].id}"
    assert page.locator("tbody tr").count() == 3
    page.click("text=1 newer run")
    page.wait_for_selector("tbody tr:nth-child(4)")
    assert console == []
