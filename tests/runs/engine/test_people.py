"""Human steps and human checks: the run waits without a worker, and silence is never approval."""

from datetime import timedelta

import pytest
from django.utils import timezone

from runs.engine import closing, drive, leases, sweeper
from runs.engine.work import Work
from runs.escalations import approving, overdue
from runs.escalations.deciding import AlreadyClosed, Said
from runs.models import Approval, Signal
from runs.models.step import UNFINISHED
from tests.at_once import at_once
from tests.pipelines import calls, human, human_check, step, steps_of

pytestmark = pytest.mark.django_db(transaction=True)


def said(by="ada", reason="", after=0):
    return Said(by=by, reason=reason, now=timezone.now() + timedelta(seconds=after))


def go_on(run):
    """Do what a worker would with the message that an answer sends."""
    for row in run.steps.filter(status__in=UNFINISHED, awaited=0):
        drive.perform(Work("step", row.id))
    run.refresh_from_db()
    return run


def test_a_human_step_waits_without_a_worker_and_goes_on_when_approved(pipelines):
    pipelines.write("p", human(), step("after", prompt_template="{{ steps.ask.by }}: {{ steps.ask.reason }}"))

    run = pipelines.run("p")

    row, asked = steps_of(run)["ask"], Approval.objects.get()
    assert (run.status, row.status, row.leased, row.awaited, row.wake_at) == ("running", "pending", False, 1, None)
    assert (asked.message, asked.name, asked.state, asked.due_at) == ("Restart disk full?", "ask", "open", None)

    approving.approve(asked.id, said(reason="the window is open"))
    go_on(run)

    assert run.status == "completed"
    assert steps_of(run)["ask"].parsed_output["approved"] is True
    assert steps_of(run)["after"].prompt == "ada: the window is open"


def test_a_rejected_human_step_ends_the_run_as_aborted(pipelines):
    pipelines.write("p", human(), step("after"))
    run = pipelines.run("p")

    approving.reject(Approval.objects.get().id, said(reason="not today"))
    go_on(run)

    assert (run.status, run.reason) == ("aborted", "ask: rejected by ada: not today")
    assert "after" not in steps_of(run)


def test_silence_fails_a_human_step(pipelines):
    pipelines.write("p", human(timeout_seconds=60), step("after"))
    run = pipelines.run("p")
    asked = Approval.objects.get()
    assert asked.due_at - asked.opened_at == timedelta(seconds=60)

    assert overdue.settle(now=asked.due_at - timedelta(seconds=1)) == 0
    assert overdue.settle(now=asked.due_at) == 1
    go_on(run)

    assert (run.status, run.reason) == ("failed", "ask: nobody answered in time")
    asked.refresh_from_db()
    assert (asked.state, asked.closed_by) == ("timed_out", "")


def test_a_human_check_is_asked_once_the_machines_have_answered_and_counts_like_any_check(pipelines, tmp_path):
    log = tmp_path / "log"
    shell = {"type": "shell", "name": "disk", "run": "true"}
    pipelines.write("p", step("look", agent={"log": str(log)}, deterministic_checks=[human_check(), shell]))

    run = pipelines.run("p")

    row, asked = steps_of(run)["look"], Approval.objects.get()
    assert (row.status, row.leased, row.awaited) == ("judging", False, 1)
    assert (asked.message, asked.position) == ("Is looked right?", 0)
    assert asked.due_at - asked.opened_at == timedelta(seconds=300)
    assert [(one.name, one.passed) for one in Signal.objects.all()] == [("disk", True)]

    approving.approve(asked.id, said())
    go_on(run)

    row = steps_of(run)["look"]
    assert (run.status, row.deterministic_passed, row.combined_trust) == ("completed", True, 0.9)
    [stage] = [one for one in row.trust_report["stages"] if one["stage"] == "checks"]
    assert [(one["name"], one["passed"]) for one in stage["inputs"]["checks"]] == [("sign-off", True), ("disk", True)]
    assert len(calls(log)) == 1  # nobody asked the agent again


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda asked: approving.reject(asked.id, said(reason="no")), "rejected by ada: no"),
        (lambda asked: overdue.settle(now=asked.due_at), "nobody answered in time"),
    ],
)
def test_a_check_that_nobody_approves_has_failed(pipelines, answer, error):
    pipelines.write("p", step("look", deterministic_checks=[human_check()]))
    run = pipelines.run("p")

    answer(Approval.objects.get())
    go_on(run)

    row = steps_of(run)["look"]
    assert (run.status, row.deterministic_passed, row.combined_trust) == ("escalated", False, 0.0)
    assert Signal.objects.get().error == error


def test_several_people_are_asked_at_once_and_the_last_answer_lets_the_step_go_on(pipelines):
    pipelines.write("p", step("look", deterministic_checks=[human_check("one"), human_check("two")]))
    run = pipelines.run("p")
    one, two = Approval.objects.order_by("position")

    approving.approve(two.id, said())
    assert go_on(run).status == "running"
    approving.approve(one.id, said())

    assert go_on(run).status == "completed"


def test_a_question_that_cannot_be_put_fails_its_check(pipelines):
    pipelines.write("p", step("look", deterministic_checks=[human_check(message="{{ output.summary + 1 }}")]))

    run = pipelines.run("p")

    assert run.status == "escalated"
    assert steps_of(run)["look"].combined_trust == 0.0
    assert Signal.objects.get().error.startswith("message: ")
    assert not Approval.objects.exists()


def test_the_second_answer_is_told_of_the_first(pipelines):
    pipelines.write("p", human())
    pipelines.run("p")
    asked = Approval.objects.get()
    approving.approve(asked.id, said("ada"))

    with pytest.raises(AlreadyClosed, match="already approved by ada"):
        approving.reject(asked.id, said("bob"))


def test_of_two_answers_at_the_same_instant_one_counts(pipelines):
    pipelines.write("p", human())
    run = pipelines.run("p")
    asked = Approval.objects.get()

    late = []

    def answer():
        try:
            approving.approve(asked.id, said())
        except AlreadyClosed as error:
            late.append(str(error))

    at_once(*[answer] * 4)
    assert late == ["This was already approved by ada."] * 3
    assert go_on(run).status == "completed"
    assert steps_of(run)["ask"].awaited == 0


def test_a_cancelled_run_asks_nobody_any_more(pipelines):
    pipelines.write("p", human(timeout_seconds=60))
    run = pipelines.run("p")

    closing.cancel(run_id=run.id, by="ada", now=timezone.now())

    asked = Approval.objects.get()
    assert (asked.state, asked.due_at) == ("withdrawn", None)
    with pytest.raises(AlreadyClosed, match="no longer needed"):
        approving.approve(asked.id, said())


def test_a_message_that_came_twice_asks_once(pipelines):
    pipelines.write("p", human())
    run = pipelines.run("p")

    drive.perform(Work("step", steps_of(run)["ask"].id))
    drive.perform(Work("run", run.id))

    assert Approval.objects.count() == 1
    assert steps_of(run)["ask"].status == "pending"


def test_a_worker_that_dies_with_the_answer_in_hand_has_called_nobody(pipelines):
    pipelines.write("p", human(), durable={"on_interrupted": "escalate"})
    run = pipelines.run("p")
    assert steps_of(run)["ask"].attempts == 0  # a wait is no sign of a worker that went silent
    approving.approve(Approval.objects.get().id, said())
    assert leases.claim(steps_of(run)["ask"].id, now=timezone.now()) is not None

    sweeper.sweep(now=timezone.now() + timedelta(hours=1))

    assert go_on(run).status == "completed"
