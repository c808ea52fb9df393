"""A finished run is run again from one of its steps: what came before is taken over, the rest is new."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from calibration.models import Sample
from runs.engine import drive, pauses
from runs.engine.work import Work
from runs.intake.rerun import CannotRerun, NoSuchStep, Started, rerun
from runs.models import QueueItem, Run, RunEvent, Spending, Step
from runs.pipelines import registry
from tests import factories
from tests.at_once import at_once
from tests.pipelines import Pipelines, calls, step, steps_of

pytestmark = pytest.mark.django_db
BEFORE = "Was {{ steps.one.summary }} at {{ steps.one.trust }}."


def says(summary: str, confidence: float = 0.9) -> dict[str, Any]:
    return {"confidence": confidence, "summary": summary}


@pytest.fixture
def logs(tmp_path: Path) -> dict[str, Path]:
    return {name: tmp_path / f"log-{name}" for name in ("one", "two", "three")}


def three(pipelines: Pipelines, logs: dict[str, Path], *, prompt: str = BEFORE, **fields: Any) -> None:
    one = step("one", agent={"log": str(logs["one"])}, says=[says("first"), says("second")])
    two = step("two", agent={"log": str(logs["two"])}, prompt_template=prompt)
    pipelines.write("triage", one, two, step("three", agent={"log": str(logs["three"])}), **fields)


def again(run: Run, from_step: str, version: Any = "same") -> Run:
    started = rerun(run.id, from_step=from_step, version=version, by="ann", now=timezone.now())
    assert started.pipeline == run.pipeline_name
    return Run.objects.get(id=started.run_id)


def finish(run: Run) -> Run:
    drive.perform(Work("run", run.id))
    for row in run.steps.filter(branch__isnull=False):
        drive.perform(Work("step", row.id))
    run.refresh_from_db()
    return run


def counts(logs: dict[str, Path]) -> list[int]:
    return [len(calls(log)) for log in logs.values()]


def test_what_came_before_is_taken_over_and_the_rest_runs_anew(
    pipelines: Pipelines, published: list[Work], logs: dict[str, Path]
) -> None:
    three(pipelines, logs)
    run = pipelines.run("triage", labels={"host": "db1"})
    samples, items, booked = Sample.objects.count(), QueueItem.objects.count(), Spending.objects.count()
    assert counts(logs) == [1, 1, 1]
    new = again(run, "two")
    assert (new.status, new.rerun_of_id, new.rerun_from, new.dedup_key) == ("queued", run.id, "two", "")
    assert (new.context, new.payload, new.version_id) == (run.context, run.payload, run.version_id)
    assert (new.source, new.started_by) == ("rerun", "ann")
    finish(new)
    assert new.status == "completed"
    assert counts(logs) == [1, 2, 2]
    assert calls(logs["two"])[1]["prompt"] == "Was first at 0.9."
    one, two, three_ = steps_of(new).values()
    assert (one.taken_from, one.agent, one.tries, one.input_tokens) == (steps_of(run)["one"].id, "", 0, None)
    assert (one.cost_nanos, one.parsed_output["summary"]) == (0, "first")
    assert (two.taken_from, three_.taken_from) == (None, None)
    # Two steps ran anew: two samples, two things to mark, and nothing of the step that was taken over.
    assert Sample.objects.count() - samples == 2
    assert QueueItem.objects.count() - items == 2
    assert Spending.objects.count() - booked == 2
    assert not Sample.objects.filter(id=one.id).exists()
    told = RunEvent.objects.filter(run=new).earliest("id").message
    assert told == f"Run again by ann from two: run {run.id}, of which 1 step is taken over."


def test_from_the_first_step_nothing_is_taken_over(
    pipelines: Pipelines, published: list[Work], logs: dict[str, Path]
) -> None:
    three(pipelines, logs)
    new = again(pipelines.run("triage"), "one")
    assert not new.steps.exists()
    finish(new)
    assert counts(logs) == [2, 2, 2]
    assert steps_of(new)["one"].parsed_output["summary"] == "second"


def test_of_a_rerun_another_is_made(pipelines: Pipelines, published: list[Work], logs: dict[str, Path]) -> None:
    three(pipelines, logs)
    first = finish(again(pipelines.run("triage"), "two"))
    second = finish(again(first, "three"))
    assert counts(logs) == [1, 2, 3]
    assert [row.taken_from for row in steps_of(second).values()] == [
        *(row.id for row in list(steps_of(first).values())[:2]),
        None,
    ]


def test_a_revised_answer_is_taken_over_as_revised(
    pipelines: Pipelines, published: list[Work], logs: dict[str, Path]
) -> None:
    three(pipelines, logs)
    run = pipelines.run("triage")
    Step.objects.filter(run=run, name="one").update(revised_output=says("put right"))
    finish(again(run, "two"))
    assert calls(logs["two"])[1]["prompt"] == "Was put right at 0.9."


def test_the_current_version_takes_over_by_name(
    pipelines: Pipelines, published: list[Work], logs: dict[str, Path]
) -> None:
    three(pipelines, logs)
    run = pipelines.run("triage")
    # The first is gone, the second asks otherwise, and the stage is another.
    three(pipelines, logs, prompt="Now {{ steps.one.summary }}", stage="production")
    new = again(run, "two", "current")
    assert (new.stage, new.version_id) == ("production", registry.current("triage").digest)  # type: ignore[union-attr]
    finish(new)
    assert calls(logs["two"])[-1]["prompt"] == "Now first"
    assert again(run, "two").stage == "testing"


def test_a_new_step_before_it_must_run_first(
    pipelines: Pipelines, published: list[Work], logs: dict[str, Path]
) -> None:
    three(pipelines, logs)
    run = pipelines.run("triage")
    pipelines.write("triage", step("one"), step("new"), step("two"))
    with pytest.raises(CannotRerun, match=r"new comes before it and has not run in that run: run again from new"):
        again(run, "two", "current")
    assert again(run, "new", "current").steps.count() == 1
    with pytest.raises(NoSuchStep, match=r"The pipeline as it is now has no step 'three'. It has: one, new, two."):
        again(run, "three", "current")


def test_groups_are_taken_over_and_run_again_as_a_whole(
    pipelines: Pipelines, published: list[Work], tmp_path: Path
) -> None:
    log, after = tmp_path / "log", tmp_path / "after"
    fan = {"fan_out": {"over": "{{ data.hosts }}", **step("each", agent={"log": str(log)})}}
    last = step(
        "last", agent={"log": str(after)}, prompt_template="{{ steps.each | length }} {{ steps['each/1'].trust }}"
    )
    pipelines.write("triage", fan, last, context_template={"include": ["data"]})
    run = finish(pipelines.accept("triage", data={"hosts": ["a", "b"]}))
    assert (run.status, len(calls(log))) == ("completed", 2)
    new = finish(again(run, "last"))
    assert (new.status, len(calls(log)), new.steps.filter(taken_from__isnull=False).count()) == ("completed", 2, 3)
    assert calls(after)[1]["prompt"] == "2 0.9"
    with pytest.raises(NoSuchStep, match=r"each/1 is a branch of each, and groups run again as a whole: name each."):
        again(run, "each/1")
    whole = finish(again(run, "each"))
    assert (whole.status, len(calls(log))) == ("completed", 4)
    pipelines.write("triage", step("each"), step("last"))
    with pytest.raises(CannotRerun, match=r"each was fan_out in that run and is command now"):
        again(run, "last", "current")


def test_a_step_that_failed_is_where_it_begins_again(
    pipelines: Pipelines, published: list[Work], tmp_path: Path
) -> None:
    pipelines.write(
        "triage", step("one"), step("two", agent={"log": str(tmp_path / "log"), "exit": [1, 0]}), step("three")
    )
    run = pipelines.run("triage")
    assert run.status == "failed"
    with pytest.raises(CannotRerun, match=r"two failed in that run, and nothing goes on after it: run again from two"):
        again(run, "three")
    assert finish(again(run, "two")).status == "completed"


@pytest.mark.parametrize("status", ["queued", "running", "escalated"])
def test_a_run_that_has_not_ended_is_refused(status: str) -> None:
    factories.pipeline()
    with pytest.raises(CannotRerun, match=rf"The run has not ended \({status}\)"):
        again(factories.run(status=status), "assess-and-remediate")


def test_other_refusals(pipelines: Pipelines, published: list[Work]) -> None:
    pipelines.write("triage", step())
    run = pipelines.run("triage")
    with pytest.raises(NoSuchStep, match=r"The version it executed has no step 'loook'. It has: look."):
        again(run, "loook")
    with pytest.raises(Run.DoesNotExist):
        rerun(uuid.uuid4(), from_step="look", version="same", by="ann", now=timezone.now())
    (pipelines.folder / "triage.yaml").unlink()
    registry.reload(now=timezone.now())
    with pytest.raises(CannotRerun, match=r"The pipeline triage was removed"):
        again(run, "look")
    assert Run.objects.count() == 1


def test_equal_reruns_are_all_meant_and_none_hides_an_alert(pipelines: Pipelines, published: list[Work]) -> None:
    pipelines.write("triage", step())
    run = pipelines.run("triage", idempotency_key="k")
    assert again(run, "look").id != again(run, "look").id
    Run.objects.filter(id=run.id).update(completed_at=factories.NOW)
    assert pipelines.accept("triage", idempotency_key="k").rerun_of_id is None


@pytest.mark.django_db(transaction=True)
def test_two_who_rerun_at_once_get_a_run_each_that_runs_once(
    pipelines: Pipelines, published: list[Work], logs: dict[str, Path]
) -> None:
    three(pipelines, logs)
    run = pipelines.run("triage")
    at_once(*(lambda: again(run, "two") for _ in range(2)))
    works = [Work("run", new.id) for new in run.reruns.all()]
    at_once(*(lambda work=work: drive.perform(work) for work in [*works, *works]))
    assert {new.status for new in run.reruns.all()} == {"completed"}
    assert counts(logs) == [1, 3, 3]


def test_the_command_and_a_pause(pipelines: Pipelines, published: list[Work], capsys: Any) -> None:
    pipelines.write("triage", step())
    run = pipelines.run("triage")
    pauses.pause("triage", by="ann", reason="", now=timezone.now())
    call_command("rerun", str(run.id), "look", "--current")
    new = run.reruns.get()
    assert capsys.readouterr().out.startswith(f"Run {new.id} of triage. triage is paused by ann since ")
    with pytest.raises(CommandError, match=r"has no step"):
        call_command("rerun", str(run.id), "nothing")
    with pytest.raises(CommandError, match=r"There is no run"):
        call_command("rerun", str(uuid.uuid4()), "look")
    assert isinstance(Started(new.id, "triage", ""), Started)


def test_a_version_from_elsewhere_cannot_run_here() -> None:
    factories.pipeline()
    run = factories.run(version=factories.version(steps=[{"name": "look", "executor": "unheard-of"}]))
    with pytest.raises(CannotRerun, match=r"The version it executed is no pipeline that can run here\."):
        again(run, "look")
