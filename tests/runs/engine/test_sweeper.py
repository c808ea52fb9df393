"""The sweeper: what is due is handed on once, what is not is left alone."""

from datetime import timedelta

import pytest

from runs.engine import leases, sweeper
from runs.engine.leases import LeaseLost
from runs.engine.work import Work
from runs.models import RunEvent, RunStatus, StepStatus
from tests.runs.engine.rows import NOW, a_run, a_step

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(seconds=11)


@pytest.fixture
def published(monkeypatch):
    works: list[Work] = []

    def publish(*given: Work, insist: bool) -> None:
        assert insist  # also while the broker is known to be down: nobody else would try again
        works.extend(given)

    monkeypatch.setattr(sweeper, "publish", publish)
    return works


def test_an_expired_lease_is_broken_and_published(published):
    step = a_step(a_run())
    lease = leases.claim(step.id, now=NOW)
    assert lease
    assert sweeper.sweep(now=LATER) == 1
    assert published == [Work("step", step.id)]
    step.refresh_from_db()
    assert (step.leased, step.lease) == (False, lease.number + 1)
    assert RunEvent.objects.get(run=step.run).kind == "step.interrupted"
    with pytest.raises(LeaseLost):
        leases.fenced_update(lease, error="from the dead")


def test_a_lease_that_still_runs_is_left_alone(published):
    step = a_step(a_run())
    leases.claim(step.id, now=NOW)
    assert sweeper.sweep(now=NOW + timedelta(seconds=9)) == 0
    step.refresh_from_db()
    assert step.leased


def test_the_interrupted_state_is_kept(published):
    step = a_step(a_run(), status=StepStatus.JUDGING, leased=True, wake_at=NOW)
    sweeper.sweep(now=LATER)
    step.refresh_from_db()
    assert step.status == StepStatus.JUDGING


def test_a_step_that_waits_for_its_next_try_is_published_without_a_word(published):
    step = a_step(a_run(), status=StepStatus.PENDING, wake_at=NOW)
    sweeper.sweep(now=LATER)
    assert published == [Work("step", step.id)]
    assert not RunEvent.objects.exists()
    assert sweeper.sweep(now=LATER + timedelta(seconds=1)) == 0


def test_a_queued_run_whose_message_was_lost_is_published_again_but_not_each_second(published):
    run = a_run(status=RunStatus.QUEUED, wake_at=NOW)
    assert sweeper.sweep(now=LATER) == 1
    assert sweeper.sweep(now=LATER + timedelta(seconds=1)) == 0
    assert sweeper.sweep(now=LATER + timedelta(seconds=31)) == 1
    assert published == [Work("run", run.id)] * 2


@pytest.mark.parametrize("status", ["completed", "cancelled", "escalated", "failed"])
def test_a_run_that_rests_is_left_alone(published, status):
    a_run(status=status, started_at=NOW)
    assert sweeper.sweep(now=NOW + timedelta(days=1)) == 0


def test_a_running_run_with_nothing_under_way_is_found(published):
    run = a_run(started_at=NOW)
    a_step(run, status=StepStatus.COMPLETED)
    busy = a_run(started_at=NOW)
    a_step(busy, status=StepStatus.RUNNING, leased=True, wake_at=NOW + timedelta(hours=1))
    assert sweeper.sweep(now=NOW + timedelta(seconds=16)) == 1
    assert published == [Work("run", run.id)]
    busy.refresh_from_db()
    assert busy.wake_at is None


def test_a_stuck_run_is_published_again_but_not_each_second(published):
    run = a_run(started_at=NOW)
    found = [sweeper.sweep(now=NOW + timedelta(seconds=second)) for second in range(14, 50)]
    assert [second for second, count in enumerate(found, start=14) if count] == [16, 47]
    assert published == [Work("run", run.id)] * 2
