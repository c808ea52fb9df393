"""Ending a run from outside: what waits never starts, what runs can write nothing more."""

from datetime import timedelta

import pytest

from runs.engine import drive, leases
from runs.engine.closing import cancel, give_up
from runs.engine.leases import LeaseLost
from runs.engine.work import Work
from runs.models import RunEvent, RunStatus, StepStatus
from tests.pipelines import calls, step
from tests.runs.engine.rows import NOW, a_run, a_step

pytestmark = pytest.mark.django_db


def test_a_queued_run_never_starts():
    run = a_run(status=RunStatus.QUEUED, wake_at=NOW)
    assert cancel(run_id=run.id, by="ada", now=NOW)
    run.refresh_from_db()
    assert (run.status, run.reason, run.completed_at, run.wake_at) == ("cancelled", "Cancelled by ada.", NOW, None)
    assert RunEvent.objects.get(run=run).kind == "run.cancelled"


def test_a_running_step_is_ended_and_its_worker_fenced():
    step = a_step(a_run())
    lease = leases.claim(step.id, now=NOW)
    assert lease
    assert cancel(run_id=step.run_id, by="ada", now=NOW + timedelta(seconds=1))
    step.refresh_from_db()
    assert (step.status, step.leased, step.wake_at) == (StepStatus.ABORTED, False, None)
    with pytest.raises(LeaseLost):
        leases.fenced_update(lease, status=StepStatus.COMPLETED)


def test_finished_steps_keep_what_they_are():
    run = a_run()
    done = a_step(run, status=StepStatus.COMPLETED)
    cancel(run_id=run.id, by="ada", now=NOW)
    done.refresh_from_db()
    assert done.status == StepStatus.COMPLETED


def test_an_escalated_run_can_be_cancelled():
    run = a_run(status=RunStatus.ESCALATED)
    assert cancel(run_id=run.id, by="ada", now=NOW)


@pytest.mark.parametrize("status", ["completed", "stopped", "aborted", "failed", "cancelled"])
def test_a_run_that_has_ended_is_not_changed(status):
    run = a_run(status=status)
    assert not cancel(run_id=run.id, by="ada", now=NOW)
    run.refresh_from_db()
    assert run.status == status
    assert not RunEvent.objects.exists()


def test_a_run_that_cannot_be_carried_on_ends_with_the_reason():
    step = a_step(a_run())
    assert give_up(run_id=step.run_id, reason="broken", now=NOW)
    step.refresh_from_db()
    assert (step.run.status, step.run.reason, step.status, step.error) == ("failed", "broken", "failed", "broken")


@pytest.mark.parametrize("reason", ["a NUL \x00 here", "half a \ud800 pair"])
def test_a_reason_no_database_takes_ends_the_run_all_the_same(reason):
    run = a_run()
    assert give_up(run_id=run.id, reason=reason, now=NOW)
    run.refresh_from_db()
    assert "\\u0000" in run.reason or "\\ud800" in run.reason


def test_a_step_its_run_left_behind_is_ended_instead_of_asked(pipelines, tmp_path):
    pipelines.write("left", step(agent={"log": str(tmp_path / "log")}))
    run = pipelines.accept("left")
    cancel(run_id=run.id, by="ada", now=NOW)
    row = a_step(run, wake_at=NOW)
    drive.perform(Work("step", row.id))
    row.refresh_from_db()
    assert calls(tmp_path / "log") == []
    assert (row.status, row.leased, row.wake_at, row.error) == ("aborted", False, None, "The run had ended.")
