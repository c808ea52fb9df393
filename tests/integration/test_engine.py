"""The engine on real workers, broker and scheduler: parallel signals, crashes, frozen workers, a lost broker."""

import signal
import time
from functools import partial

import psutil
import pytest
from django.utils import timezone

from runs.engine.closing import cancel
from runs.models import Run, RunStatus, StepStatus
from tests.pipelines import calls, judge, step, steps_of
from tests.services import wait_until

LEASE = 3.0  # seconds; the default of 10 takes the same road, only longer


@pytest.fixture
def worker(worker, tmp_path):
    config = tmp_path / "short-leases.yaml"
    config.write_text(f"limits: {{lease_seconds: {LEASE}}}")
    return partial(worker, env={"VECTORSTEP_CONFIG": str(config)})


def status_of(run: Run) -> str:
    return str(Run.objects.values_list("status", flat=True).get(id=run.id))


def wait_for(run: Run, status: str, *, seconds: float = 20) -> None:
    wait_until(lambda: status_of(run) == status, seconds=seconds, what=f"the run to be {status}")


def wait_for_call(log) -> None:
    wait_until(lambda: bool(calls(log)), what="the agent to be called")


def test_signals_of_a_step_are_gathered_at_the_same_time(pipelines, worker):
    slow = {"sleep": 1, "says": {"confidence": 0.9, "reasoning": {"claims": [{"claim": "a", "supported": True}]}}}
    checks = [{"type": "shell", "name": name, "run": "sleep 1"} for name in ("first", "second")]
    pipelines.write(
        "parallel",
        step(verifier=judge(**slow), grounding=judge(**slow), deterministic_checks=checks, agent={"says": 0.9}),
    )
    worker()
    run = pipelines.accept("parallel")
    wait_for(run, RunStatus.COMPLETED)
    row = steps_of(run)["look"]
    seconds = (row.completed_at - row.started_at).total_seconds() - row.duration_ms / 1000
    assert row.signals.count() == 4
    assert 1.0 <= seconds < 2.0  # one after the other would be four


def test_a_killed_workers_step_is_taken_on_and_what_was_done_is_not_repeated(pipelines, worker, beat, tmp_path):
    first, second, third = tmp_path / "first", tmp_path / "second", tmp_path / "third"
    pipelines.write(
        "kill",
        step("first", agent={"log": str(first)}),
        step("second", agent={"log": str(second), "sleep": 2}),
        step("third", agent={"log": str(third)}),
    )
    victim = worker()
    beat()
    run = pipelines.accept("kill")
    wait_for_call(second)
    victim.kill()
    killed_at = timezone.now()
    worker()
    wait_until(lambda: len(calls(second)) == 2, seconds=LEASE + 10, what="the step to be taken on")
    taken_after = (timezone.now() - killed_at).total_seconds()
    wait_for(run, RunStatus.COMPLETED)
    assert taken_after < LEASE + 2
    assert [len(calls(log)) for log in (first, second, third)] == [1, 2, 1]
    assert len({call["key"] for call in calls(second)}) == 1  # the same call, so that an agent can do it once
    assert run.events.filter(kind="step.interrupted").count() == 1


def test_a_crash_while_signals_are_gathered_repeats_only_what_had_not_ended(pipelines, worker, beat, tmp_path):
    log, quick, slow = tmp_path / "log", tmp_path / "quick", tmp_path / "slow"
    checks = [
        {"type": "shell", "name": "quick", "run": f"echo x >> {quick}"},
        {"type": "shell", "name": "slow", "run": f"echo x >> {slow}; sleep 2"},
    ]
    pipelines.write("crash", step(agent={"log": str(log)}, deterministic_checks=checks))
    victim = worker()
    beat()
    run = pipelines.accept("crash")
    wait_until(lambda: run.steps.filter(signals__name="quick").exists(), what="the quick check's row")
    victim.kill()
    worker()
    wait_for(run, RunStatus.COMPLETED, seconds=LEASE + 15)
    assert len(calls(log)) == 1
    assert quick.read_text() == "x\n"
    assert slow.read_text() == "x\nx\n"


def test_a_frozen_worker_that_wakes_up_can_write_nothing(pipelines, worker, beat, tmp_path):
    log = tmp_path / "log"
    pipelines.write("freeze", step(agent={"log": str(log), "sleep": 1, "says": [0.8, 0.9]}))
    frozen = worker()
    beat()
    run = pipelines.accept("freeze")
    wait_for_call(log)
    frozen.signal(signal.SIGSTOP)
    worker()
    wait_for(run, RunStatus.COMPLETED, seconds=LEASE + 15)
    frozen.signal(signal.SIGCONT)
    wait_until(lambda: "no longer this worker's" in frozen.log(), what="the stale worker to notice")
    row = steps_of(run)["look"]
    assert (row.primary_confidence, row.lease, row.status) == (0.9, 3, StepStatus.COMPLETED)
    assert run.events.filter(kind="step.decided").count() == 1


def test_a_side_effect_that_was_interrupted_is_not_repeated_but_shown_to_a_person(pipelines, worker, beat, tmp_path):
    log = tmp_path / "log"
    pipelines.write("once", step(agent={"log": str(log), "sleep": 30}), durable={"on_interrupted": "escalate"})
    victim = worker()
    beat()
    run = pipelines.accept("once")
    wait_for_call(log)
    victim.kill()
    worker()
    wait_for(run, RunStatus.ESCALATED, seconds=LEASE + 10)
    run.refresh_from_db()
    assert len(calls(log)) == 1
    assert "interrupted" in run.reason


def test_cancelling_stops_the_agent(pipelines, worker, tmp_path):
    log = tmp_path / "log"
    pipelines.write("cancel", step(agent={"log": str(log), "sleep": 60}), step("never"))
    worker()
    run = pipelines.accept("cancel")
    wait_for_call(log)
    pid = calls(log)[0]["pid"]
    assert psutil.pid_exists(pid)
    assert cancel(run_id=run.id, by="ada", now=timezone.now())
    wait_until(lambda: not psutil.pid_exists(pid), seconds=5, what="the agent to be stopped")
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
    assert {name: row.status for name, row in steps_of(run).items()} == {"look": "aborted"}


def test_a_run_accepted_while_the_broker_was_lost_starts_when_there_is_one(pipelines, worker, beat, monkeypatch):
    from kombu.exceptions import OperationalError

    from vectorstep.celery import app

    def refuse(*_args, **_kwargs):
        raise OperationalError("connection refused")

    pipelines.write("lost", step())
    with monkeypatch.context() as patch:
        patch.setattr(app.amqp, "send_task_message", refuse)
        run = pipelines.accept("lost")
    assert status_of(run) == RunStatus.QUEUED
    worker()
    beat()
    wait_for(run, RunStatus.COMPLETED)


def test_a_hundred_slow_agents_at_once_on_one_worker(pipelines, worker, tmp_path):
    pipelines.write("slow", step(executor="gateway", executor_config={"agent": "x", "session_key": "agent:x:1"}))
    from tests.fakes.gateway import FakeGateway, Script, running

    with running(FakeGateway({"x": Script(delay=2)})) as gateway:
        config = tmp_path / "config.yaml"
        config.write_text(f"executors: {{gateway: {{url: '{gateway.url}', rest_url: '{gateway.rest_url}'}}}}")
        worker(threads=128, env={"VECTORSTEP_CONFIG": str(config)})
        runs = [pipelines.accept("slow") for _ in range(100)]
        started = time.monotonic()
        ids = [run.id for run in runs]
        wait_until(
            lambda: Run.objects.filter(id__in=ids, status=RunStatus.COMPLETED).count() == 100,
            seconds=30,
            what="a hundred runs",
        )
    assert time.monotonic() - started < 15  # one after the other would be two hundred seconds


def test_a_fan_out_of_200_over_two_workers_survives_the_death_of_one(pipelines, worker, beat, tmp_path):
    log = tmp_path / "log"
    group = {
        **step("each", prompt_template="{{ item }}", agent={"log": str(log)}),
        "over": "{{ range(200) | list }}",
        "max_items": 200,
    }
    pipelines.write("many", {"fan_out": group}, step("then", prompt_template="{{ steps.each | length }}"))
    worker()
    victim = worker()
    beat()
    run = pipelines.accept("many")
    wait_until(lambda: len(calls(log)) > 60, seconds=60, what="the fan-out to be well under way")
    victim.kill()

    wait_for(run, RunStatus.COMPLETED, seconds=90)

    branches = run.steps.filter(branch__isnull=False)
    assert branches.filter(status=StepStatus.COMPLETED).count() == 200
    assert steps_of(run)["then"].prompt == "200"
    assert {call["prompt"] for call in calls(log)} == set(map(str, range(200)))
    # What the victim had in hand is asked again, under the key it had: whoever keeps to keys does it once.
    assert len({call["key"] for call in calls(log)}) == 200
    assert run.events.filter(kind="step.decided", step_name__startswith="each/").count() == 200
