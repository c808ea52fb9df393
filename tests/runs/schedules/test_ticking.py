"""Schedules start runs: each tick one run, whoever and however many look."""

from datetime import timedelta
from pathlib import Path

import pytest

from runs.intake import accept, backlog
from runs.models import Pipeline, Run, RunEvent, Tick
from runs.pipelines import reloading
from runs.schedules.ticking import run_due
from tests.at_once import at_once
from tests.runs.intake_factories import NOW
from tests.runs.schedules.scheduled import HOURLY, loaded, reload, written

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _counted_anew() -> None:
    backlog.forget()


def test_nothing_starts_before_its_time(tmp_path: Path) -> None:
    loaded(tmp_path)
    assert run_due(now=NOW + HOUR - timedelta(seconds=1)) == 0
    assert not Run.objects.exists()


def test_a_tick_starts_a_run_as_the_schedule_says(tmp_path: Path) -> None:
    row = loaded(tmp_path, schedule={**HOURLY, "team": "reporting"})
    assert row.next_at == NOW + HOUR
    assert run_due(now=NOW + HOUR) == 1
    run = Run.objects.get()
    assert (run.pipeline_name, run.team, run.source, run.summary) == (
        "report",
        "reporting",
        "schedule",
        "The hour is full",
    )
    assert (run.context["severity"], run.context["labels"]) == ("low", {"kind": "report"})
    assert run.context["metadata"] == {"scheduled_for": "2026-03-01T13:00:00+00:00"}
    assert run.version_id == row.version_id
    assert RunEvent.objects.get(run=run).kind == "run.queued"
    tick = Tick.objects.get()
    assert (tick.pipeline_name, tick.due_at, tick.run_id) == ("report", NOW + HOUR, run.id)
    row.refresh_from_db()
    assert row.next_at == NOW + 2 * HOUR


def test_a_schedule_without_a_summary_is_named_after_its_pipeline(tmp_path: Path) -> None:
    loaded(tmp_path, schedule={"cron": "0 * * * *"})
    run_due(now=NOW + HOUR)
    assert Run.objects.get().summary == "Scheduled run of report"


def test_a_tick_is_not_a_duplicate_of_the_one_before(tmp_path: Path) -> None:
    loaded(tmp_path)
    assert [run_due(now=NOW + hours * HOUR) for hours in (1, 1, 2, 3)] == [1, 0, 1, 1]


def test_a_downtime_of_many_ticks_is_one_run_for_the_latest(tmp_path: Path) -> None:
    loaded(tmp_path)
    assert run_due(now=NOW + timedelta(hours=7, minutes=20)) == 1
    assert Tick.objects.get().due_at == NOW + 7 * HOUR
    assert Pipeline.objects.get().next_at == NOW + 8 * HOUR
    assert run_due(now=NOW + timedelta(hours=7, minutes=21)) == 0


def test_a_new_schedule_does_not_run_for_the_past(tmp_path: Path) -> None:
    row = loaded(tmp_path, now=NOW + timedelta(minutes=30))
    assert row.next_at == NOW + HOUR
    assert run_due(now=NOW + timedelta(minutes=31)) == 0


def test_a_reload_that_changes_something_else_forgets_no_missed_tick(tmp_path: Path) -> None:
    loaded(tmp_path)
    loaded(tmp_path, description="Better words", now=NOW + timedelta(hours=2, minutes=5))
    assert run_due(now=NOW + timedelta(hours=2, minutes=6)) == 1
    run = Run.objects.get()
    assert run.version_id == Pipeline.objects.get().version_id
    assert Tick.objects.get().due_at == NOW + 2 * HOUR


def test_another_cron_begins_anew(tmp_path: Path) -> None:
    loaded(tmp_path)
    row = loaded(tmp_path, schedule={"cron": "15 * * * *"}, now=NOW + timedelta(hours=2, minutes=20))
    assert row.next_at == NOW + timedelta(hours=3, minutes=15)


def test_another_time_zone_begins_anew(tmp_path: Path) -> None:
    # India is five hours and a half ahead: its full hours are at half past of UTC.
    loaded(tmp_path)
    assert loaded(tmp_path, schedule={**HOURLY, "timezone": "Asia/Kolkata"}).next_at == NOW + timedelta(minutes=30)


def test_without_its_schedule_or_its_file_a_pipeline_no_longer_runs(tmp_path: Path) -> None:
    loaded(tmp_path)
    written(tmp_path, "other")
    reload(tmp_path)
    written(tmp_path, schedule=None)
    (tmp_path / "other.yaml").unlink()
    reload(tmp_path)
    assert run_due(now=NOW + 5 * HOUR) == 0
    # Back again: from now on, not for the time it was away.
    written(tmp_path, "other")
    reload(tmp_path, NOW + 5 * HOUR)
    assert run_due(now=NOW + 5 * HOUR) == 0
    assert Pipeline.objects.get(name="other").next_at == NOW + 6 * HOUR


def test_a_broken_file_keeps_the_schedule_of_its_last_good_version(tmp_path: Path) -> None:
    loaded(tmp_path)
    (tmp_path / "report.yaml").write_text("name: report\nsteps: 7\n", encoding="utf-8")
    reloading.reload(tmp_path, tmp_path / "steps", now=NOW)
    assert run_due(now=NOW + HOUR) == 1


def test_a_testing_pipeline_runs_by_itself_only_if_it_says_so(tmp_path: Path) -> None:
    assert loaded(tmp_path, stage="testing").next_at is None
    assert run_due(now=NOW + 5 * HOUR) == 0
    loaded(tmp_path, stage="testing", schedule={**HOURLY, "allow_testing": True}, now=NOW + 5 * HOUR)
    assert run_due(now=NOW + 6 * HOUR) == 1
    assert Run.objects.get().stage == "testing"


def test_a_full_backlog_delays_a_tick_and_loses_none(tmp_path: Path, service) -> None:
    loaded(tmp_path)
    service(limits={"backlog": 1})
    run_due(now=NOW + HOUR)
    assert run_due(now=NOW + 2 * HOUR) == 0
    assert Pipeline.objects.get().next_at == NOW + 2 * HOUR
    Run.objects.update(status="completed")
    backlog.forget()
    assert run_due(now=NOW + 2 * HOUR) == 1


def test_a_pipeline_in_trouble_does_not_hold_up_the_others(tmp_path: Path, monkeypatch, caplog) -> None:
    loaded(tmp_path, "bad")
    loaded(tmp_path, "good")
    usual = accept.start_scheduled

    def troubled(**given):
        if given["version"].name == "bad":
            raise ValueError("no luck")
        return usual(**given)

    monkeypatch.setattr(accept, "start_scheduled", troubled)
    assert run_due(now=NOW + HOUR) == 1
    assert Run.objects.get().pipeline_name == "good"
    assert "the schedule of bad cannot start a run" in caplog.text


def test_a_tick_that_has_run_does_not_run_again_though_the_schedule_was_set_back_to_it(tmp_path: Path) -> None:
    loaded(tmp_path)
    run_due(now=NOW + HOUR)
    Pipeline.objects.update(next_at=NOW + HOUR)
    assert run_due(now=NOW + HOUR) == 0
    assert Run.objects.count() == 1
    assert Pipeline.objects.get().next_at == NOW + 2 * HOUR


@pytest.mark.django_db(transaction=True)
def test_two_schedulers_at_the_same_instant_start_one_run_for_a_tick(tmp_path: Path) -> None:
    for number in range(5):
        loaded(tmp_path, f"report-{number}")
    started: list[int] = []
    at_once(*[lambda: started.append(run_due(now=NOW + HOUR))] * 4)
    assert sum(started) == 5
    assert Run.objects.count() == Tick.objects.count() == 5
    assert run_due(now=NOW + HOUR) == 0
