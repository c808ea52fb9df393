"""Marking on the run's page, and marks as files, in a real browser."""

from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group, User
from django.utils import timezone

from calibration.models import Mark
from tests import factories
from tests.browser.test_live import say
from tests.browser.test_pages import complaints
from tests.runs.marked import label, markable


def test_a_step_is_marked_without_leaving_the_page_and_taken_back(site: str, page: Any, console: list[str]) -> None:
    step = markable(factories.run(now=timezone.now()), name="group/0")
    page.goto(f"{site}/ui/runs/{step.run_id}")
    section = page.locator(f"#marks-{step.id}")
    section.get_by_label("Note").fill("right service, wrong region")
    section.get_by_role("button", name="Partial").click()
    section.locator("text=Counts as partly correct.").wait_for()
    assert label(step.id) == (0.5, "step_mark")
    assert page.url == f"{site}/ui/runs/{step.run_id}"
    assert section.locator(".mark-note").inner_text() == "right service, wrong region"
    assert section.get_by_role("button", name="Partial").get_attribute("aria-pressed") == "true"
    section.get_by_role("button", name="Correct", exact=True).click()
    section.locator("text=Counts as correct.").wait_for()
    assert Mark.objects.get(is_current=True).note == "right service, wrong region"
    section.locator("text=Take my mark back").click()
    section.locator("text=Counts as partly correct.").wait_for()
    section.locator("text=2 marks ever made").click()
    page.locator(".mark-line", has_text="taken back").wait_for()
    assert complaints(page, page.url) == []
    assert console == []


def test_a_run_that_ends_while_one_watches_can_be_marked_then(site: str, page: Any) -> None:
    run = factories.run(status="running", now=timezone.now())
    page.goto(f"{site}/ui/runs/{run.id}")
    page.wait_for_selector("#live:not([hidden])")
    assert page.locator("text=Was the run right as a whole?").count() == 0
    run.status, run.completed_at = "completed", timezone.now()
    run.save()
    say(run, "The run is done.", "run.completed")
    page.locator(f"#marks-{run.id}").get_by_role("button", name="Incorrect").click()
    page.wait_for_url(f"**/ui/runs/{run.id}#marks-{run.id}")
    page.locator(f"#marks-{run.id} .mark-line", has_text="olga").wait_for()
    assert Mark.objects.get(group=run.id).outcome == "incorrect"


def test_marking_works_without_scripts(site: str, page: Any, chromium: Any) -> None:
    step = markable(factories.run(now=timezone.now()))
    context = chromium.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{site}/ui/steps/{step.id}")
    plain.locator(f"#marks-{step.id}").get_by_role("button", name="Correct", exact=True).click()
    plain.locator("text=Counts as correct.").wait_for()
    assert plain.url == f"{site}/ui/steps/{step.id}#marks-{step.id}"
    context.close()


def test_a_file_is_checked_and_imported(site: str, page: Any, console: list[str], tmp_path: Path) -> None:
    User.objects.get(username="olga").groups.add(Group.objects.get_or_create(name="admin")[0])
    step = markable(factories.run(now=timezone.now()))
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(f'step_id,outcome,marker,note\n{step.id},correct,anna,"two\nlines"\n')
    bad.write_text("step_id,outcome\nx,good\n" * 3)
    for number, file in enumerate((bad, good)):
        page.emulate_media(color_scheme=("light", "dark")[number], reduced_motion="reduce")
        page.set_viewport_size({"width": (390, 1440)[number], "height": 900})
        page.goto(f"{site}/ui/marks")
        page.set_input_files("#file", file)
        page.click("text=Check the file")
        page.locator(f"text=What {file.name} would change").wait_for()
        assert complaints(page, file.name) == []
    page.click("text=Import 1 mark")
    page.locator("text=1 mark added").wait_for()
    assert label(step.id) == (1.0, "step_mark")
    assert Mark.objects.get().note == "two\nlines"
    assert console == []
