"""At most so many calls of one agent at once, the longest waiting first, and no worker is held meanwhile."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pydantic import ValidationError

from runs.engine import drive, pauses, sweeper, turns
from runs.engine.closing import cancel
from runs.engine.work import Work
from runs.models import Run, RunEvent, Step
from tests import factories
from tests.at_once import at_once
from tests.pipelines import Pipelines, calls, step, steps_of
from vectorstep.config import AgentLimits, Service

pytestmark = pytest.mark.django_db(transaction=True)
AGENT = "command:scripted"


@pytest.fixture
def limit(settings: Any) -> Callable[[int], None]:
    def at_most(max_calls: int) -> None:
        agents = {AGENT: AgentLimits(max_calls=max_calls)}
        settings.SERVICE = settings.SERVICE.model_copy(update={"agents": agents})

    return at_most


@contextmanager
def calling(monkeypatch: pytest.MonkeyPatch, run: Run) -> Iterator[None]:
    """The run's step is being asked by another worker for as long as the block lasts."""
    ask = drive.step.primary.ask
    begun, go_on = threading.Event(), threading.Event()

    def slow(state: Any, *arguments: Any) -> None:
        if state.run.id == run.id:
            begun.set()
            assert go_on.wait(30)
        ask(state, *arguments)

    def work() -> None:
        drive.perform(Work("run", run.id))
        connection.close()

    monkeypatch.setattr(drive.step.primary, "ask", slow)
    worker = threading.Thread(target=work)
    worker.start()
    assert begun.wait(30)
    yield
    go_on.set()
    worker.join(30)


def perform_all(published: list[Work]) -> None:
    while published:
        drive.perform(published.pop(0))


def test_a_step_over_the_limit_waits_without_a_worker_and_goes_on_when_a_call_ends(
    pipelines: Pipelines, published: list[Work], monkeypatch: pytest.MonkeyPatch, limit: Any
) -> None:
    limit(1)
    pipelines.write("triage", step())
    first, second = (pipelines.accept("triage", summary=name) for name in ("a", "b"))
    with calling(monkeypatch, first):
        published.clear()
        drive.perform(Work("run", second.id))
        row = steps_of(second)["look"]
        assert (row.status, row.leased, row.wake_at, row.attempts) == ("pending", False, None, 0)
        [told] = RunEvent.objects.filter(run=second, kind="step.waiting")
        assert told.message == "look waits for a free call of command:scripted: 1 of 1 in use."
        sweeper.sweep(now=timezone.now() + timedelta(seconds=1))
        assert published == []
        drive.perform(Work("step", row.id))  # a message that was late: it waits again, and the log is not told twice
        assert RunEvent.objects.filter(run=second, kind="step.waiting").count() == 1
    assert published == [Work("step", row.id)]
    perform_all(published)
    assert set(Run.objects.values_list("status", flat=True)) == {"completed"}
    row.refresh_from_db()
    assert (row.attempts, row.turn_asked_at) == (1, None)


def test_the_longest_waiting_is_called_up_and_no_newcomer_is_quicker(
    pipelines: Pipelines, published: list[Work], monkeypatch: pytest.MonkeyPatch, limit: Any
) -> None:
    limit(1)
    pipelines.write("triage", step())
    first, *others = (pipelines.accept("triage", summary=str(n)) for n in range(4))
    with calling(monkeypatch, first):
        for run in others[:2]:
            drive.perform(Work("run", run.id))
        published.clear()
    oldest = steps_of(others[0])["look"]
    assert published == [Work("step", oldest.id)]  # one place, one message
    drive.perform(Work("run", others[2].id))  # comes when the place is free, but it is not its turn
    assert steps_of(others[2])["look"].turn_asked_at is not None
    perform_all(published)
    assert set(Run.objects.values_list("status", flat=True)) == {"completed"}
    began = Step.objects.order_by("turn_taken_at").values_list("run_id", flat=True)
    assert list(began) == [first.id, *(run.id for run in others)]


def test_a_call_up_that_is_lost_is_made_again(
    pipelines: Pipelines, published: list[Work], monkeypatch: pytest.MonkeyPatch, limit: Any
) -> None:
    limit(1)
    pipelines.write("triage", step())
    first, second = (pipelines.accept("triage", summary=name) for name in ("a", "b"))
    with calling(monkeypatch, first):
        drive.perform(Work("run", second.id))
    published.clear()
    sweeper.sweep(now=timezone.now() + timedelta(seconds=1))
    assert published == []  # it was called up a moment ago
    sweeper.sweep(now=timezone.now() + timedelta(minutes=1))
    perform_all(published)
    second.refresh_from_db()
    assert second.status == "completed"


def test_the_place_of_a_worker_that_was_killed_is_free_when_its_lease_ends(
    pipelines: Pipelines, published: list[Work], limit: Any
) -> None:
    limit(1)
    pipelines.write("triage", step())
    first, second = (pipelines.accept("triage", summary=name) for name in ("a", "b"))
    drive._begin(first.id)
    dead = steps_of(first)["look"]
    now = timezone.now()
    Step.objects.filter(id=dead.id).update(turn_taken_at=now, wake_at=now + timedelta(seconds=5))
    drive.perform(Work("run", second.id))
    published.clear()
    sweeper.sweep(now=now + timedelta(seconds=4))
    assert published == []
    sweeper.sweep(now=now + timedelta(seconds=6))
    assert set(published) == {Work("step", dead.id), Work("step", steps_of(second)["look"].id)}
    perform_all(published)
    perform_all(published)
    assert set(Run.objects.values_list("status", flat=True)) == {"completed"}


def test_two_workers_never_take_the_last_place_together(
    pipelines: Pipelines, published: list[Work], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: Any
) -> None:
    limit(2)
    log = tmp_path / "log"
    pipelines.write("triage", step(agent={"log": str(log)}))
    runs = [pipelines.accept("triage", summary=str(n)) for n in range(6)]
    ask, at_work, most, guard = drive.step.primary.ask, 0, 0, threading.Lock()

    def counted(*arguments: Any) -> None:
        nonlocal at_work, most
        with guard:
            at_work += 1
            most = max(most, at_work)
        ask(*arguments)
        with guard:
            at_work -= 1

    monkeypatch.setattr(drive.step.primary, "ask", counted)
    at_once(*(lambda run=run: drive.perform(Work("run", run.id)) for run in runs))
    for _ in range(6):
        sweeper.sweep(now=timezone.now() + timedelta(minutes=2))
        perform_all(published)
    assert set(Run.objects.values_list("status", flat=True)) == {"completed"}
    assert most <= 2
    assert len(calls(log)) == 6


def test_a_cancelled_run_keeps_nobody_waiting(
    pipelines: Pipelines, published: list[Work], monkeypatch: pytest.MonkeyPatch, limit: Any
) -> None:
    limit(1)
    pipelines.write("triage", step())
    first, second, third = (pipelines.accept("triage", summary=name) for name in ("a", "b", "c"))
    with calling(monkeypatch, first):
        for run in (second, third):
            drive.perform(Work("run", run.id))
        cancel(run_id=second.id, by="ann", now=timezone.now())
        published.clear()
    assert published == [Work("step", steps_of(third)["look"].id)]


def test_who_waits_in_a_paused_pipeline_keeps_no_place_and_is_not_called_up(
    pipelines: Pipelines, published: list[Work], monkeypatch: pytest.MonkeyPatch, limit: Any
) -> None:
    limit(1)
    for name in ("triage", "report"):
        pipelines.write(name, step())
    first, second, other = (pipelines.accept(name, summary=name) for name in ("report", "triage", "report"))
    with calling(monkeypatch, first):
        drive.perform(Work("run", second.id))
        pauses.pause("triage", by="ann", reason="", now=timezone.now())
        published.clear()
    assert published == []
    drive.perform(Work("step", steps_of(second)["look"].id))
    assert steps_of(second)["look"].status == "pending"
    drive.perform(Work("run", other.id))
    other.refresh_from_db()
    assert other.status == "completed"
    pauses.resume("triage", by="ann", now=timezone.now())
    sweeper.sweep()
    perform_all(published)
    second.refresh_from_db()
    assert second.status == "completed"


def test_without_its_limit_everybody_goes_on(
    pipelines: Pipelines, published: list[Work], monkeypatch: pytest.MonkeyPatch, limit: Any, settings: Any
) -> None:
    limit(1)
    pipelines.write("triage", step())
    first, *others = (pipelines.accept("triage", summary=str(n)) for n in range(3))
    with calling(monkeypatch, first):
        for run in others:
            drive.perform(Work("run", run.id))
        settings.SERVICE = settings.SERVICE.model_copy(update={"agents": {}})
        published.clear()
        sweeper.sweep()
        assert len(published) == 2


def test_an_agent_without_a_limit_costs_no_query(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert turns.take(Step(agent="command:other"), None, now=timezone.now())  # type: ignore[arg-type]
        turns.hand_on("command:other")


@pytest.mark.parametrize(
    "agents",
    [{"scripted": {"max_calls": 1}}, {"gateway:": {"max_calls": 1}}, {"webhook:x": {"max_calls": 1}},
     {"gateway:x": {"max_calls": 0}}, {"gateway:x": {"max_calls": True}}, {"gateway:x": {}},
     {"gateway:x": {"max_calls": 1, "more": 1}}, ["gateway:x"]],
)  # fmt: skip
def test_limits_that_mean_nothing_are_refused(agents: Any) -> None:
    with pytest.raises(ValidationError):
        Service.model_validate({"agents": agents})


def test_the_run_page_says_what_is_waited_for(limit: Any, client: Client) -> None:
    limit(2)
    run = factories.run(status="running")
    factories.step(
        run, status="pending", agent=AGENT, turn_asked_at=factories.NOW, parsed_output=None, completed_at=None
    )
    client.force_login(factories.user())
    page = client.get(f"/ui/runs/{run.id}").content.decode()
    assert "It waits for a free call of command:scripted: 2 of 2 in use." in page
