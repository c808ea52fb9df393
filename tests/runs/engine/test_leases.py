"""Claims: one winner, growing numbers, and nothing written by a worker that lost its lease."""

import threading
from datetime import timedelta

import pytest
from django.db import connection

from runs.engine import leases
from runs.engine.leases import Heartbeat, Lease, LeaseLost
from runs.models import Step, StepStatus
from tests.runs.engine.rows import NOW, a_run, a_step

pytestmark = pytest.mark.django_db


def test_a_claim_takes_the_row_and_raises_the_number():
    step = a_step(a_run(), lease=7)
    lease = leases.claim(step.id, now=NOW)
    assert lease is not None
    assert lease.number == 8
    step.refresh_from_db()
    assert (step.leased, step.lease, step.attempts, step.status) == (True, 8, 1, StepStatus.RUNNING)
    assert step.wake_at == NOW + timedelta(seconds=10)


def test_a_claimed_step_cannot_be_claimed_again():
    step = a_step(a_run())
    assert leases.claim(step.id, now=NOW)
    assert leases.claim(step.id, now=NOW + timedelta(days=1)) is None


@pytest.mark.parametrize("status", ["completed", "stopped", "escalated", "aborted", "failed", "skipped"])
def test_a_finished_step_cannot_be_claimed(status):
    assert leases.claim(a_step(a_run(), status=status).id, now=NOW) is None


def test_an_interrupted_state_is_still_told_after_the_claim():
    step = a_step(a_run(), status=StepStatus.JUDGING, attempts=1)
    assert leases.claim(step.id, now=NOW)
    step.refresh_from_db()
    assert (step.status, step.attempts) == (StepStatus.JUDGING, 2)


def test_a_write_under_the_lease_arrives():
    step = a_step(a_run())
    lease = leases.claim(step.id, now=NOW)
    assert lease is not None
    leases.fenced_update(lease, error="seen")
    step.refresh_from_db()
    assert step.error == "seen"


def test_a_stale_write_is_refused_and_stops_the_call():
    step = a_step(a_run())
    stale = leases.claim(step.id, now=NOW)
    assert stale is not None
    Step.objects.filter(id=step.id).update(leased=False)
    fresh = leases.claim(step.id, now=NOW)
    assert fresh is not None
    assert fresh.number > stale.number
    with pytest.raises(LeaseLost):
        leases.fenced_update(stale, error="from the dead")
    assert stale.stop.is_set()
    step.refresh_from_db()
    assert step.error == ""


def test_the_heartbeat_renews_only_what_is_near_its_end(settings):
    step, other = a_step(a_run()), a_step(a_run())
    old, young = leases.claim(step.id, now=NOW), leases.claim(other.id, now=NOW)
    assert old
    assert young
    old.renewed -= 5  # of the ten seconds a lease lasts
    Heartbeat().look([old, young])
    step.refresh_from_db()
    other.refresh_from_db()
    assert step.wake_at > NOW + timedelta(seconds=10)
    assert other.wake_at == NOW + timedelta(seconds=10)


def test_the_heartbeat_tells_a_call_that_its_lease_is_gone():
    step = a_step(a_run())
    lease = leases.claim(step.id, now=NOW)
    assert lease
    Step.objects.filter(id=step.id).update(leased=False, lease=lease.number + 1)
    called = threading.Event()
    lease.stop.on_stop(called.set)
    Heartbeat().look([lease])
    assert called.is_set()


def test_a_lease_that_could_not_be_renewed_in_time_stops_itself(monkeypatch):
    from django.db import DatabaseError

    def refuse(*_args, **_kwargs):
        raise DatabaseError("the database is away")

    lease = Lease(a_step(a_run()).id, 1)
    lease.renewed -= 11
    beat = Heartbeat()
    monkeypatch.setattr(beat, "_look", refuse)
    monkeypatch.setattr(connection, "close", lambda: None)
    beat.look([lease])
    assert lease.stop.is_set()
