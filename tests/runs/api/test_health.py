import threading
from datetime import timedelta

import pytest
from django.db import OperationalError

from runs import events
from runs.api import health
from runs.engine import pauses
from runs.models import Run, RunStatus, Step
from tests.runs.intake_factories import NOW, pipeline


def queued(at):
    version = pipeline()
    return Run.objects.create(
        version=version, pipeline_name="triage", stage="testing", source="cli", context={}, triggered_at=at
    )


@pytest.mark.django_db(transaction=True)
def test_health_needs_no_login(client):
    answer = client.get("/health")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "database": "ok",
        "workers": "ok",
        "oldest_queued_seconds": None,
        "everything_paused": False,
        "pipelines_paused": 0,
        "version": "0.1.0",
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("query", ["x=1", "x=1&x=2", "t=" + "9" * 5_000, "%00"])
def test_health_answers_whatever_is_added_to_get_past_a_cache(client, query):
    answer = client.get(f"/health?{query}")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


@pytest.mark.django_db
def test_old_queue_that_does_not_move_is_stalled():
    run = queued(NOW)
    events.log(run.id, "run.queued", "Accepted.", now=NOW + timedelta(seconds=30))
    found = health.state(NOW + timedelta(seconds=31))
    assert (found["status"], found["workers"], found["oldest_queued_seconds"]) == ("stalled", "stalled", 31.0)


@pytest.mark.django_db
def test_old_queue_that_moves_is_load():
    run = queued(NOW)
    events.log(run.id, "step.answered", "Answered.", now=NOW + timedelta(seconds=20))
    assert health.state(NOW + timedelta(seconds=31))["status"] == "ok"
    assert health.state(NOW + timedelta(seconds=51))["status"] == "stalled"


@pytest.mark.django_db
def test_old_queue_behind_slow_agents_is_load():
    run = queued(NOW)
    later = NOW + timedelta(hours=1)
    step = Step.objects.create(run=run, name="slow", index=0, executor="gateway", created_at=NOW, leased=True)
    Step.objects.filter(id=step.id).update(wake_at=later + timedelta(seconds=5))
    assert health.state(later)["status"] == "ok"
    assert health.state(later + timedelta(seconds=6))["status"] == "stalled"


@pytest.mark.django_db
def test_young_queue_is_ok():
    queued(NOW)
    assert health.state(NOW + timedelta(seconds=30))["status"] == "ok"


@pytest.mark.django_db
def test_only_queued_runs_count():
    queued(NOW)
    Run.objects.update(status=RunStatus.RUNNING)
    assert health.state(NOW + timedelta(hours=1))["oldest_queued_seconds"] is None


def test_database_that_fails_is_503(client, monkeypatch):
    def fail(now):
        raise OperationalError("connection refused")

    monkeypatch.setattr(health, "state", fail)
    answer = client.get("/health")
    assert answer.status_code == 503
    assert (answer.json()["status"], answer.json()["database"]) == ("down", "down")
    assert "refused" not in answer.content.decode()


def test_database_that_hangs_is_503_in_time_and_piles_up_no_threads(client, monkeypatch):
    release = threading.Event()
    looks = []

    def hang(now):
        looks.append(now)
        release.wait(20)
        return {"database": "ok"}

    monkeypatch.setattr(health, "state", hang)
    monkeypatch.setattr(health, "ANSWER_WITHIN", 0.05)
    try:
        assert [client.get("/health").status_code for _ in range(5)] == [503] * 5
        assert len(looks) == 1
    finally:
        release.set()
        health._probe._thread.join(10)


@pytest.mark.django_db
def test_what_is_paused_does_not_stall_and_is_told():
    run = queued(NOW)
    pauses.pause("triage", by="ann", reason="", now=NOW)
    found = health.state(NOW + timedelta(minutes=5))
    assert (found["status"], found["oldest_queued_seconds"]) == ("ok", None)
    assert (found["everything_paused"], found["pipelines_paused"]) == (False, 1)
    pauses.resume("triage", by="ann", now=NOW)
    pauses.pause(pauses.EVERYTHING, by="ann", reason="", now=NOW)
    found = health.state(NOW + timedelta(minutes=5))
    assert (found["status"], found["everything_paused"], found["pipelines_paused"]) == ("ok", True, 0)
    assert run.status == "queued"
