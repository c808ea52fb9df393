"""Of what is paused nothing begins, what is under way ends, and on resuming everything goes on, each step once."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from runs.engine import drive, pauses, sweeper
from runs.engine.work import Work
from runs.escalations.approving import approve
from runs.escalations.deciding import Said
from runs.intake import accept
from runs.models import Approval, Pause, Pipeline, Run, RunEvent, Tick
from runs.schedules.ticking import run_due
from tests.at_once import at_once
from tests.pipelines import Pipelines, calls, human, step, steps_of
from tests.runs.intake_factories import NOW
from tests.runs.schedules.scheduled import loaded

pytestmark = pytest.mark.django_db(transaction=True)  # else nothing would be published


@pytest.fixture(autouse=True)
def _seen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every process had looked again by now."""
    monkeypatch.setattr(pauses, "LOOKED_AT_EVERY", 0.0)
    pauses.forget()


def pause(name: str = "triage", **fields: str) -> Pause:
    return pauses.pause(name, **{"by": "ann", "reason": "the model is down", **fields}, now=timezone.now())


def resume(name: str = "triage") -> None:
    pauses.resume(name, by="bob", now=timezone.now())


def sweep(published: list[Work]) -> list[Work]:
    """What the sweeper hands out a moment from now."""
    published.clear()
    sweeper.sweep(now=timezone.now() + timedelta(seconds=1))
    return list(published)


def perform(*works: Work) -> None:
    for work in works:
        drive.perform(work)


@pytest.mark.parametrize("paused", ["triage", pauses.EVERYTHING])
def test_a_queued_run_waits_unseen_by_the_sweeper_and_starts_when_resumed(
    pipelines: Pipelines, published: list[Work], paused: str
) -> None:
    pipelines.write("triage", step())
    pause(paused)
    run = pipelines.run("triage")
    assert (run.status, run.steps.count()) == ("queued", 0)
    assert sweep(published) == []
    resume(paused)
    assert sweep(published) == [Work("run", run.id)]
    perform(*published)
    run.refresh_from_db()
    assert (run.status, steps_of(run)["look"].attempts) == ("completed", 1)


def test_other_pipelines_go_on(pipelines: Pipelines, published: list[Work]) -> None:
    pipelines.write("triage", step())
    pipelines.write("report", step())
    pause()
    assert pipelines.run("report").status == "completed"


def test_a_step_under_way_ends_and_the_next_one_waits(
    pipelines: Pipelines, published: list[Work], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    pipelines.write("triage", step("one", agent={"log": str(first)}), step("two", agent={"log": str(second)}))
    run = pipelines.accept("triage")
    during(monkeypatch, pause)
    drive.perform(Work("run", run.id))
    run.refresh_from_db()
    assert (run.status, steps_of(run)["one"].status, len(steps_of(run))) == ("running", "completed", 1)
    [told] = RunEvent.objects.filter(run=run, kind="run.paused")
    assert told.message.startswith("Nothing new begins: triage is paused by ann since ")
    assert told.message.endswith(", because: the model is down.")
    assert sweep(published) == []
    resume()
    assert sweep(published) == [Work("run", run.id)]
    perform(*published, *published)  # the message came twice
    run.refresh_from_db()
    assert run.status == "completed"
    assert (len(calls(first)), len(calls(second))) == (1, 1)
    assert run.wake_at is None


def during(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have ``act`` happen while the first step's agent is asked."""
    ask, done = drive.step.primary.ask, []

    def asking(*arguments: object) -> None:
        if not done:
            done.append(act())
        ask(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(drive.step.primary, "ask", asking)


def test_the_last_step_ends_its_run_although_it_is_paused(
    pipelines: Pipelines, published: list[Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipelines.write("triage", step())
    run = pipelines.accept("triage")
    during(monkeypatch, pause)
    drive.perform(Work("run", run.id))
    run.refresh_from_db()
    assert run.status == "completed"


def test_branches_that_have_not_begun_wait(pipelines: Pipelines, published: list[Work]) -> None:
    pipelines.write(
        "triage", {"fan_out": {"over": "{{ data.hosts }}", **step("each")}}, context_template={"include": ["data"]}
    )
    run = pipelines.accept("triage", data={"hosts": ["a", "b"]})
    published.clear()
    drive._begin(run.id)
    branches = [Work("step", row.id) for row in run.steps.filter(branch__isnull=False)]
    assert len(branches) == 2
    pause()
    perform(*branches)
    assert set(run.steps.filter(branch__isnull=False).values_list("status", "attempts")) == {("pending", 0)}
    assert sweep(published) == []
    resume()
    assert set(sweep(published)) == set(branches)
    perform(*published)
    run.refresh_from_db()
    assert run.status == "completed"


def test_a_person_who_answers_meanwhile_ends_the_step_and_no_other_begins(
    pipelines: Pipelines, published: list[Work]
) -> None:
    pipelines.write("triage", human(), step())
    run = pipelines.run("triage")
    pause()
    approve(Approval.objects.get().id, Said("cy", "", timezone.now()))
    perform(*published)
    run.refresh_from_db()
    assert (run.status, {name: row.status for name, row in steps_of(run).items()}) == ("running", {"ask": "completed"})
    resume()
    perform(*sweep(published))
    run.refresh_from_db()
    assert run.status == "completed"


def test_pausing_and_resuming_twice_tells_who_was_quicker(pipelines: Pipelines) -> None:
    pipelines.write("triage", step())
    first = pause()
    with pytest.raises(pauses.AlreadyPaused, match=r"Paused already by ann since .*, because: the model is down"):
        pause(by="bob")
    resume()
    with pytest.raises(pauses.NotPaused, match="triage is not paused"):
        resume()
    first.refresh_from_db()
    assert (first.by, first.resumed_by, first.resumed_at is not None) == ("ann", "bob", True)
    assert Pause.objects.count() == 1


def test_an_unknown_pipeline_cannot_be_paused(pipelines: Pipelines) -> None:
    for name in ("nothing", "a\x00b"):
        with pytest.raises(pauses.NoSuchPipeline):
            pause(name)


def test_one_pipeline_stays_paused_when_everything_is_resumed(pipelines: Pipelines, published: list[Work]) -> None:
    pipelines.write("triage", step())
    pause()
    pause(pauses.EVERYTHING)
    resume(pauses.EVERYTHING)
    assert pipelines.run("triage").status == "queued"


def test_who_starts_a_run_is_told_that_it_waits(pipelines: Pipelines, published: list[Work]) -> None:
    pipelines.write("triage", step())
    pause(pauses.EVERYTHING, reason="")
    answer = accept.start(pipeline="triage", payload={}, team="", source="test", started_by="ann", now=timezone.now())
    assert answer.status == "accepted"
    assert answer.reason.startswith("Everything is paused by ann since ")
    assert answer.reason.endswith(" UTC: the run is stored, and starts when that is over.")


@pytest.mark.parametrize("paused", ["report", pauses.EVERYTHING])
def test_ticks_missed_in_a_pause_are_one_run_after_it(tmp_path: Path, paused: str) -> None:
    loaded(tmp_path)
    pauses.pause(paused, by="ann", reason="", now=NOW)
    assert run_due(now=NOW + timedelta(hours=3)) == 0
    assert not Run.objects.exists()
    pauses.resume(paused, by="ann", now=NOW)
    assert run_due(now=NOW + timedelta(hours=4, minutes=10)) == 1
    assert Tick.objects.get().due_at == NOW + timedelta(hours=4)
    assert Pipeline.objects.get().next_at == NOW + timedelta(hours=5)


def test_a_look_costs_no_query_while_it_is_fresh(django_assert_num_queries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "LOOKED_AT_EVERY", 60.0)
    with django_assert_num_queries(1):
        for _ in range(3):
            assert pauses.of("triage") is None


def test_commands(pipelines: Pipelines, capsys: pytest.CaptureFixture[str]) -> None:
    pipelines.write("triage", step())
    call_command("pause", "triage", reason="the model is down")
    assert capsys.readouterr().out.startswith("triage is paused by the command line since ")
    with pytest.raises(CommandError, match="Paused already by the command line"):
        call_command("pause", "triage")
    with pytest.raises(CommandError, match="There is no pipeline nothing"):
        call_command("pause", "nothing")
    call_command("resume", "triage")
    assert capsys.readouterr().out == "Resumed.\n"
    with pytest.raises(CommandError, match="Nothing is paused as a whole"):
        call_command("resume")


def test_of_two_who_pause_at_once_one_is_told(pipelines: Pipelines, published: list[Work]) -> None:
    pipelines.write("triage", step())
    told: list[str] = []

    def by(name: str) -> Callable[[], None]:
        def press() -> None:
            try:
                pause(by=name)
            except pauses.AlreadyPaused as error:
                told.append(str(error))

        return press

    at_once(by("ann"), by("bob"))
    [row] = Pause.objects.all()
    assert len(told) == 1
    assert f"Paused already by {row.by} since" in told[0]


def test_pausing_and_resuming_while_steps_end_loses_nothing_and_repeats_nothing(
    pipelines: Pipelines, published: list[Work], tmp_path: Path
) -> None:
    logs = [tmp_path / name for name in ("one", "two", "three")]
    pipelines.write("triage", *(step(log.name, agent={"log": str(log)}) for log in logs))
    runs = [pipelines.accept("triage", summary=f"disk {n} full") for n in range(2)]

    def press() -> None:
        for _ in range(3):
            pause()
            resume()

    at_once(press, *(lambda run=run: drive.perform(Work("run", run.id)) for run in runs))
    for _ in range(4):
        perform(*sweep(published))
    assert {run.status for run in Run.objects.all()} == {"completed"}
    assert [len(calls(log)) for log in logs] == [2, 2, 2]
