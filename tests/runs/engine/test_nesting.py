"""Pipelines within pipelines, through the real engine."""

from datetime import timedelta

import pytest
from django.utils import timezone

from runs.engine import closing, drive, sweeper
from runs.engine.work import Work
from runs.escalations import deciding
from runs.models import Escalation, Run, Step
from tests.pipelines import nested, step, steps_of, wake

pytestmark = pytest.mark.django_db(transaction=True)


def child_of(run):
    return Run.objects.get(parent_step__run_id=run.id)


def said():
    return deciding.Said(by="ada", reason="looked into it", now=timezone.now())


def test_the_run_goes_on_with_the_last_answer_of_the_pipeline_it_ran(pipelines):
    pipelines.write("inner", step("one"), step("two", says={"confidence": 0.9, "found": 7}))
    pipelines.write(
        "outer", nested(), step("after", prompt_template="{{ steps.sub.found }}, {{ steps.sub.run_status }}")
    )

    run = pipelines.run("outer")

    child = child_of(run)
    sub = steps_of(run)["sub"]
    assert (run.status, child.status, sub.status) == ("completed", "completed", "completed")
    assert steps_of(run)["after"].prompt == "7, completed"
    assert sub.parsed_output["run_id"] == str(child.id)
    assert "confidence" not in sub.parsed_output  # the inner step's, not this one's
    assert (sub.primary_confidence, sub.combined_trust) == (None, None)


def test_the_inner_run_has_the_team_and_stage_and_the_payload_with_the_overrides(pipelines):
    pipelines.write(
        "inner", step("one", prompt_template="{{ summary }} / {{ severity }} / {{ labels.host }}"), stage="production"
    )
    pipelines.write("outer", nested(context={"severity": "{{ labels.host }} is hot"}))

    run = pipelines.run("outer", data={}, labels={"host": "db1"})

    child = child_of(run)
    assert (child.stage, child.team, child.source) == ("testing", run.team, "pipeline")
    assert steps_of(child)["one"].prompt.startswith("disk full / db1 is hot")


@pytest.mark.parametrize(
    ("inner", "status", "reason"),
    [
        (step("one", agent={"exit": 3}), "failed", "its run of inner failed: one: scripted ended with exit code 3"),
        (step("one", says=0.2, on_low_confidence="abort"), "aborted", "its run of inner aborted: one: "),
    ],
)
def test_what_became_of_the_inner_run_becomes_of_the_step(pipelines, inner, status, reason):
    pipelines.write("inner", inner)
    pipelines.write("outer", nested(), step("after"))

    run = pipelines.run("outer")

    assert run.status == status
    assert steps_of(run)["sub"].error.startswith(reason)
    assert "after" not in steps_of(run)


def test_a_stopped_inner_run_lets_the_outer_one_go_on(pipelines):
    pipelines.write("inner", step("one", says={"confidence": 0.9, "proceed": False}), step("two"))
    pipelines.write("outer", nested(), step("after", when="steps.sub.run_status == 'completed'"))

    run = pipelines.run("outer")

    assert (run.status, child_of(run).status) == ("completed", "stopped")
    assert steps_of(run)["after"].status == "skipped"


def test_the_outer_run_waits_without_a_worker_while_a_person_decides_on_the_inner_one(pipelines):
    pipelines.write("inner", step("one", says=0.2))
    pipelines.write("outer", nested(), step("after"))

    run = pipelines.run("outer")

    sub = steps_of(run)["sub"]
    assert (run.status, child_of(run).status) == ("running", "escalated")
    assert (sub.status, sub.leased, sub.awaited, sub.wake_at) == ("pending", False, 1, None)

    deciding.approve(Escalation.objects.get().id, said())
    drive.perform(Work("run", child_of(run).id))
    run.refresh_from_db()

    assert (run.status, child_of(run).status) == ("completed", "completed")


def test_an_aborted_escalation_of_the_inner_run_aborts_the_outer_one(pipelines):
    pipelines.write("inner", step("one", says=0.2))
    pipelines.write("outer", nested(), step("after"))
    run = pipelines.run("outer")

    deciding.abort(Escalation.objects.get().id, said())
    drive.perform(Work("step", steps_of(run)["sub"].id))
    run.refresh_from_db()

    assert run.status == "aborted"
    assert "aborted by ada: looked into it" in run.reason


def test_cancelling_the_outer_run_cancels_the_inner_one_and_its_inner_ones(pipelines):
    pipelines.write("innermost", step("one", says=0.2))
    pipelines.write("inner", nested(pipeline="innermost"))
    pipelines.write("outer", nested())
    run = pipelines.run("outer")

    assert closing.cancel(run_id=run.id, by="ada", now=timezone.now())

    assert set(Run.objects.values_list("pipeline_name", "status")) == {
        (name, "cancelled") for name in ("outer", "inner", "innermost")
    }
    assert not Escalation.objects.filter(state="open").exists()
    assert not Step.objects.filter(wake_at__isnull=False).exists()


def test_cancelling_the_inner_run_fails_the_step_that_waits_for_it(pipelines):
    pipelines.write("inner", step("one", says=0.2))
    pipelines.write("outer", nested())
    run = pipelines.run("outer")

    closing.cancel(run_id=child_of(run).id, by="ada", now=timezone.now())
    drive.perform(Work("step", steps_of(run)["sub"].id))
    run.refresh_from_db()

    assert (run.status, run.reason) == ("failed", "sub: its run of inner cancelled: Cancelled by ada.")


def test_a_child_whose_parent_ended_without_it_is_ended_by_the_sweeper(pipelines):
    pipelines.write("inner", step("one", says=0.2))
    pipelines.write("outer", nested())
    run = pipelines.run("outer")
    Run.objects.filter(id=run.id).update(status="cancelled")  # as if whoever cancelled it had died right after
    Step.objects.filter(run=run).update(status="aborted", wake_at=None)

    sweeper.sweep(now=timezone.now())

    assert child_of(run).status == "cancelled"


def test_a_time_limit_ends_the_inner_run_and_fails_the_step(pipelines):
    pipelines.write("inner", step("one", says=0.2))
    pipelines.write("outer", nested(timeout_seconds=60))
    run = pipelines.run("outer")
    sub = steps_of(run)["sub"]
    assert sub.wake_at - child_of(run).triggered_at == timedelta(seconds=60)

    drive.perform(Work("step", sub.id))
    assert child_of(run).status == "escalated"  # not yet

    Run.objects.filter(id=child_of(run).id).update(triggered_at=timezone.now() - timedelta(seconds=61))
    drive.perform(Work("step", sub.id))
    run.refresh_from_db()

    assert (run.status, child_of(run).status) == ("failed", "cancelled")
    assert "Not finished within the 60 seconds of sub" in run.reason


def test_retry_starts_another_run_after_one_that_failed(pipelines, tmp_path):
    pipelines.write("inner", step("one", agent={"exit": [3, 0], "log": str(tmp_path / "log")}))
    pipelines.write("outer", nested(retry={"attempts": 2, "delay_seconds": 60}))
    run = pipelines.run("outer")
    assert (run.status, steps_of(run)["sub"].status) == ("running", "pending")

    wake(run)
    run.refresh_from_db()

    children = Run.objects.filter(parent_step__run=run).order_by("id")
    assert [child.status for child in children] == ["failed", "completed"]
    assert (run.status, steps_of(run)["sub"].parsed_output["run_id"]) == ("completed", str(children[1].id))


def test_a_fan_out_can_run_a_pipeline_for_each_item(pipelines):
    pipelines.write("inner", step("one", prompt_template="{{ summary }}"))
    pipelines.write(
        "outer",
        {"fan_out": {"over": "{{ data }}", **nested("each", context={"summary": "{{ item }}"})}},
        step("after", prompt_template="{{ steps.each | length }}"),
        context_template={"include": ["data"]},
    )

    run = pipelines.run("outer", data=["a", "b"])
    for row in run.steps.filter(status="pending", awaited=0):
        drive.perform(Work("step", row.id))
    run.refresh_from_db()

    assert run.status == "completed"
    assert {child.summary for child in Run.objects.filter(parent_step__run=run)} == {"a", "b"}


def test_a_pipeline_that_came_to_call_itself_fails_with_the_chain(pipelines):
    pipelines.write("inner", step("one"))
    pipelines.write("outer", nested())
    run = pipelines.accept("outer")
    # The file changes between the acceptance and the start; loading refuses this, versions of different times do not.
    Run.objects.filter(id=run.id).update(pipeline_name="inner")

    drive.perform(Work("run", run.id))
    run.refresh_from_db()

    assert (run.status, run.reason) == ("failed", "sub: inner -> inner: a pipeline cannot be part of itself")
