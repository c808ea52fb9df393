"""Marking on the run's page."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from calibration.models import Mark
from runs.models import QueueItem
from tests import factories
from tests.runs.marked import label, markable, said

pytestmark = pytest.mark.django_db


@pytest.fixture
def marker() -> Client:
    client = Client()
    client.force_login(factories.user("maria", role="marker"))
    return client


def mark(client: Client, step: Any, outcome: str = "correct", **more: str) -> Any:
    return client.post(reverse("ui-step-mark", args=[step.id]), {"outcome": outcome, **more})


def words(response: Any) -> str:
    assert response.status_code == 200, response.content[:300]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def test_a_step_is_marked_from_its_panel_and_the_page_shows_by_whom(marker: Client) -> None:
    step = markable()
    run_page = reverse("ui-run", args=[step.run_id])
    assert "Nobody has marked it yet." in words(marker.get(run_page))
    answer = mark(marker, step, "partial", note="half of it")
    assert answer.url == f"{run_page}#marks-{step.id}"
    told = words(marker.get(run_page))
    assert "Counts as partly correct." in told
    assert "maria (you)" in told
    assert "half of it" in told
    assert label(step.id) == (0.5, "step_mark")
    made = Mark.objects.get()
    assert (made.was_blind, made.via) == (False, "page")


def test_with_htmx_only_the_section_comes_back(marker: Client) -> None:
    step = markable()
    address = reverse("ui-step-mark", args=[step.id])
    answer = marker.post(address, {"outcome": "incorrect"}, headers={"HX-Request": "true"})
    assert "Counts as incorrect." in words(answer)
    assert b"<html" not in answer.content
    assert b'value="incorrect" aria-pressed="true"' in answer.content


def test_the_page_that_the_form_stood_on_is_shown_again_and_no_other(marker: Client) -> None:
    step = markable()
    own = reverse("ui-step", args=[step.id])
    assert mark(marker, step, **{"from": own}).url == f"{own}#marks-{step.id}"
    run_page = reverse("ui-run", args=[step.run_id])
    assert mark(marker, step, **{"from": "https://evil.example/"}).url == f"{run_page}#marks-{step.id}"


def test_two_markers_make_a_mean(marker: Client) -> None:
    step = markable()
    mark(marker, step, "correct")
    other = Client()
    other.force_login(factories.user("otto", role="marker"))
    mark(other, step, "partial")
    told = words(marker.get(reverse("ui-step", args=[step.id])))
    assert "Counts as 75%, the mean of 2 marks." in told
    assert "otto" in told


def test_a_newer_mark_replaces_and_history_tells_both(marker: Client) -> None:
    step = markable()
    mark(marker, step, "correct")
    mark(marker, step, "incorrect", note="<b>seen again</b>")
    assert said() == [("maria", "correct", False), ("maria", "incorrect", True)]
    history = marker.get(reverse("ui-step-marks", args=[step.id]))
    told = words(history)
    assert told.index("Incorrect") < told.index("replaced by a newer mark")
    assert b"&lt;b&gt;seen again" in history.content


def test_a_mark_taken_back_makes_the_one_before_count(marker: Client) -> None:
    step = markable()
    mark(marker, step, "correct")
    mark(marker, step, "incorrect")
    newest = Mark.objects.get(is_current=True)
    answer = marker.post(reverse("ui-mark-undo", args=[newest.pk]))
    assert answer.status_code == 302
    assert label(step.id) == (1.0, "step_mark")
    marker.post(reverse("ui-mark-undo", args=[Mark.objects.get(is_current=True).pk]))
    assert label(step.id) == (None, "")
    assert QueueItem.objects.filter(step=step).exists()
    assert "taken back" in words(marker.get(reverse("ui-step-marks", args=[step.id])))


def test_a_second_undo_changes_nothing_and_one_of_a_colleague_is_refused(marker: Client) -> None:
    step = markable()
    mark(marker, step)
    made = Mark.objects.get()
    other = Client()
    other.force_login(factories.user("otto", role="marker"))
    assert other.post(reverse("ui-mark-undo", args=[made.pk])).status_code == 400
    for _ in range(2):
        assert marker.post(reverse("ui-mark-undo", args=[made.pk])).status_code == 302
    assert label(step.id) == (None, "")


def test_a_run_is_marked_as_a_whole_and_its_steps_say_so(marker: Client) -> None:
    run = factories.run()
    step, failed = markable(run), markable(run, "failed", check_failed=True)
    answer = marker.post(reverse("ui-run-mark", args=[run.id]), {"outcome": "correct", "note": "all well"})
    assert answer.url == f"{reverse('ui-run', args=[run.id])}#marks-{run.id}"
    told = words(marker.get(answer.url.partition("#")[0]))
    assert "Counts as correct, because the run as a whole was marked." in told
    assert "Counts as incorrect, because a check failed." in told
    assert label(step.id) == (1.0, "run_mark")
    assert label(failed.id) == (0.0, "failed_check")
    made = Mark.objects.get()
    assert marker.post(reverse("ui-mark-undo", args=[made.pk])).status_code == 302
    assert label(step.id) == (None, "")
    assert "all well" in words(marker.get(reverse("ui-run-marks", args=[run.id])))


def test_a_run_under_way_offers_no_mark_and_takes_none(marker: Client) -> None:
    run = factories.run(status="running")
    response = marker.get(reverse("ui-run", args=[run.id]))
    assert "right as a whole" not in words(response)
    assert reverse("ui-run-section", args=[run.id]).encode() in response.content
    assert marker.post(reverse("ui-run-mark", args=[run.id]), {"outcome": "correct"}).status_code == 400
    run.status = "completed"
    run.save()
    assert "right as a whole" in words(marker.get(reverse("ui-run-section", args=[run.id])))


def test_who_may_only_look_sees_marks_and_no_form(viewer: Client, marker: Client) -> None:
    step = markable()
    mark(marker, step)
    seen = viewer.get(reverse("ui-run", args=[step.run_id]))
    assert "maria" in words(seen)
    assert b'name="outcome"' not in seen.content
    assert b"Take my mark back" not in seen.content


@pytest.mark.parametrize("form", [{}, {"outcome": "good"}, {"outcome": "correct", "note": "x" * 10_001}])
def test_a_form_that_was_tampered_with_is_refused(marker: Client, form: dict[str, str]) -> None:
    step = markable()
    assert marker.post(reverse("ui-step-mark", args=[step.id]), form).status_code == 400
    assert marker.post(reverse("ui-run-mark", args=[step.run_id]), form).status_code == 400
    assert not Mark.objects.exists()


def test_a_step_without_a_confidence_offers_no_mark_and_takes_none(marker: Client) -> None:
    step = factories.step(factories.run(), "notify", status="skipped")
    assert "Was it right?" not in words(marker.get(reverse("ui-step", args=[step.id])))
    assert mark(marker, step).status_code == 400


def test_reading_a_run_costs_the_same_however_often_it_was_marked(marker: Client) -> None:
    run = factories.run()
    steps = [markable(run, f"step-{number}") for number in range(3)]
    address = reverse("ui-run", args=[run.id])
    marker.get(address)
    with CaptureQueriesContext(connection) as before:
        marker.get(address)
    for step in steps:
        for outcome in ("correct", "partial"):
            mark(marker, step, outcome)
    marker.post(reverse("ui-run-mark", args=[run.id]), {"outcome": "correct"})
    with CaptureQueriesContext(connection) as after:
        marker.get(address)
    assert len(after) == len(before)
