"""What becomes of a step whose worker went silent in the middle of the call."""

from datetime import timedelta

import pytest
from django.utils import timezone

from runs.engine import drive
from runs.engine.work import Work
from runs.models import Run, RunStatus, Step
from tests.pipelines import Pipelines, step

pytestmark = pytest.mark.django_db


def taken_over(pipelines: Pipelines, *, began: float = 0, attempts: int = 1, **fields: object) -> tuple[Run, Step]:
    """Take on the one step of a run, which ``attempts`` workers lost, the first of them ``began`` seconds ago."""
    pipelines.write("one", step(says=0.9), **fields)
    run = pipelines.accept("one")
    at = timezone.now() - timedelta(seconds=began)
    Run.objects.filter(id=run.id).update(status=RunStatus.RUNNING, started_at=at, wake_at=None)
    row = Step.objects.create(
        run=run, name="look", index=0, executor="command", agent="command:scripted", prompt="Look.", status="running",
        confidence_threshold=0.75, created_at=at, started_at=at, attempts=attempts, lease=attempts,
    )  # fmt: skip
    drive.perform(Work("step", row.id))
    run.refresh_from_db()
    row.refresh_from_db()
    return run, row


def test_an_agent_is_asked_again(pipelines: Pipelines) -> None:
    run, row = taken_over(pipelines, began=3600)
    assert (run.status, row.status, row.primary_confidence) == ("completed", "completed", 0.9)


def test_a_pipeline_may_leave_it_to_a_person(pipelines: Pipelines) -> None:
    run, row = taken_over(pipelines, durable={"on_interrupted": "escalate"})
    assert (run.status, row.status, row.primary_confidence) == ("escalated", "escalated", None)
    assert "interrupted during the call" in row.error


@pytest.mark.parametrize(("began", "status"), [(50, "completed"), (70, "failed")])
def test_what_is_too_old_is_not_taken_up_again(pipelines: Pipelines, began: float, status: str) -> None:
    run, row = taken_over(pipelines, began=began, durable={"max_resume_age_seconds": 60})
    assert (run.status, row.status) == (status, status)
    assert ("max_resume_age_seconds (60)" in row.error) == (status == "failed")


def test_what_silences_worker_after_worker_is_given_up(pipelines: Pipelines, settings) -> None:
    most = settings.SERVICE.limits.workers_per_step
    run, row = taken_over(pipelines, attempts=most)
    assert (run.status, row.status) == ("failed", "failed")
    assert f"{most} workers went silent" in row.error
