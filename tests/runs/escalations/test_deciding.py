"""What a person decides about an escalated step, through the real engine."""

from datetime import timedelta

import pytest
from django.utils import timezone

from calibration.models import Turn
from runs.engine import closing, drive
from runs.engine.work import Work
from runs.escalations import deciding, overdue
from runs.models import Decision, Escalation, StepStatus
from runs.trust.narrative import narrative
from tests.at_once import at_once
from tests.pipelines import step, steps_of

pytestmark = pytest.mark.django_db(transaction=True)


def said(by="ann", reason="looked at it", now=None):
    return deciding.Said(by=by, reason=reason, now=now or timezone.now())


def opened(run):
    return Escalation.objects.get(run=run, state="open")


def go_on(run):
    """As a worker does with the message that a decision sends."""
    drive.perform(Work("run", run.id))
    for row in run.steps.filter(status__in=["pending", "running"], awaited=0):
        drive.perform(Work("step", row.id))
    run.refresh_from_db()
    return run


@pytest.fixture
def paused(pipelines):
    pipelines.write("p", step("act", says=0.5), step("tell", prompt_template="{{ steps.act.summary }}"))
    return pipelines.run("p")


def test_a_low_step_opens_an_escalation_that_says_why(paused):
    escalation = opened(paused)

    assert (paused.status, escalation.step.name, escalation.tier, escalation.due_at) == ("escalated", "act", 0, None)
    assert "50% falls short of this step's 75%" in escalation.reason


def test_approval_lets_the_run_go_on_with_the_answer(paused):
    deciding.approve(opened(paused).id, said())

    run = go_on(paused)
    assert (run.status, run.reason, steps_of(run)["act"].status) == ("completed", "", "completed")
    assert steps_of(run)["tell"].prompt == "looked"
    decision = Decision.objects.get()
    assert (decision.kind, decision.by, decision.reason) == ("approve", "ann", "looked at it")
    assert run.events.filter(kind="escalation.approve").get().message == "ann approved act: looked at it"


def test_a_revision_is_what_later_steps_see_and_the_answer_is_kept(paused):
    revised = {"confidence": 0.5, "summary": "not the disk", "next_step_context": "", "cause": "network"}

    deciding.revise(opened(paused).id, said(), output=revised)

    run = go_on(paused)
    steps = steps_of(run)
    assert steps["tell"].prompt == "not the disk"
    assert (steps["act"].parsed_output["summary"], steps["act"].revised_output["cause"]) == ("looked", "network")
    assert Decision.objects.get().changes == {"summary": ["looked", "not the disk"], "cause": [None, "network"]}


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ({"summary": "x"}, "next_step_context"),
        ({"summary": 3, "next_step_context": ""}, "summary: expected text"),
        ({"summary": "", "next_step_context": "", "confidence": 2}, "confidence: expected a number from 0 to 1"),
        ({"summary": "", "next_step_context": "", "proceed": "no"}, "proceed: expected true or false"),
    ],
)
def test_a_revision_that_breaks_the_contract_decides_nothing(paused, output, problem):
    with pytest.raises(deciding.BadRevision, match=problem):
        deciding.revise(opened(paused).id, said(), output=output)

    paused.refresh_from_db()
    assert (paused.status, opened(paused).decisions.count()) == ("escalated", 0)


def test_approving_an_answer_that_wants_to_stop_stops_the_run(pipelines):
    stop = {"confidence": 0.5, "proceed": False}
    pipelines.write("p", step("act", says=stop), step("tell"))
    run = pipelines.run("p")

    deciding.approve(opened(run).id, said())

    assert (go_on(run).status, "tell" in steps_of(run)) == ("stopped", False)


def test_aborting_ends_the_run_with_who_and_why(paused):
    deciding.abort(opened_id := opened(paused).id, said())

    paused.refresh_from_db()
    assert (paused.status, paused.reason) == ("aborted", "act: aborted by ann: looked at it")
    assert steps_of(paused)["act"].status == "aborted"
    assert paused.completed_at is not None
    assert Escalation.objects.get(id=opened_id).state == "aborted"


def test_handing_on_keeps_the_run_paused_and_gives_the_next_tier_its_time(pipelines):
    pipelines.write("p", step("act", says=0.5, escalation={"to": "first line", "after_seconds": 600}))
    run = pipelines.run("p")
    first = opened(run)
    assert (first.to, first.due_at - first.opened_at) == ("first line", timedelta(seconds=600))
    later = first.opened_at + timedelta(seconds=300)

    deciding.hand_on(first.id, said(now=later), to="leads")

    escalation = opened(run)
    assert (escalation.to, escalation.tier, escalation.due_at) == ("leads", 1, later + timedelta(seconds=600))
    run.refresh_from_db()
    assert run.status == "escalated"


def test_of_two_people_at_the_same_instant_one_decides_and_the_other_is_told_who(paused):
    escalation = opened(paused).id

    told = []

    def decide(decision, name):
        try:
            decision(escalation, said(by=name))
        except deciding.AlreadyClosed as error:
            told.append(str(error))

    at_once(lambda: decide(deciding.approve, "ann"), lambda: decide(deciding.abort, "bob"))

    winner = Decision.objects.get().by
    assert told == [f"This was already {'approved' if winner == 'ann' else 'aborted'} by {winner}."]


def test_cancelling_the_run_withdraws_the_question(paused):
    escalation = opened(paused)

    closing.cancel(run_id=paused.id, by="bob", now=timezone.now())

    with pytest.raises(deciding.AlreadyClosed, match="This was already no longer needed"):
        deciding.approve(escalation.id, said())


@pytest.mark.parametrize(
    ("on_timeout", "state", "run_status"), [("abort", "timed_out", "aborted"), ("keep", "open", "escalated")]
)
def test_silence_is_never_approval(pipelines, on_timeout, state, run_status):
    wanted = {"after_seconds": 60, "on_timeout": on_timeout}
    pipelines.write("p", step("act", says=0.5, escalation=wanted), stage="testing")
    run = pipelines.run("p")
    due = opened(run).due_at

    assert overdue.settle(now=due - timedelta(seconds=1)) == 0
    assert overdue.settle(now=due) == 1
    assert overdue.settle(now=due + timedelta(days=1)) == 0

    run.refresh_from_db()
    assert (Escalation.objects.get(run=run).state, run.status) == (state, run_status)


def test_an_equal_alert_meanwhile_does_not_keep_the_run_paused(pipelines):
    pipelines.write("p", step("act", says=0.5))
    first = pipelines.run("p", idempotency_key="k")
    first.__class__.objects.filter(id=first.id).update(dedup_key="k")
    second = pipelines.accept("p")
    first.__class__.objects.filter(id=second.id).update(dedup_key="k")

    deciding.approve(opened(first).id, said())

    assert go_on(first).status == "completed"


def test_an_approved_branch_lets_its_group_be_joined_and_is_not_asked_about_twice(pipelines):
    own = step("unsure", says=0.4, confidence_threshold=0.6)
    pipelines.write("p", {"parallel": {"name": "both", "steps": [own, step("sure")]}}, step("then"))
    run = pipelines.run("p")
    for row in run.steps.filter(status=StepStatus.PENDING):
        drive.perform(Work("step", row.id))

    deciding.approve(opened(run).id, said())

    assert go_on(run).status == "completed"
    assert steps_of(run)["both"].combined_trust == 0.9


def test_a_decision_while_siblings_run_waits_for_them(pipelines):
    own = step("unsure", says=0.4, confidence_threshold=0.6)
    pipelines.write("p", {"parallel": {"name": "both", "steps": [own, step("sure")]}})
    run = pipelines.run("p")
    assert run.status == "running"

    deciding.approve(opened(run).id, said())
    for row in run.steps.filter(status=StepStatus.PENDING):
        drive.perform(Work("step", row.id))

    run.refresh_from_db()
    assert run.status == "completed"


def test_a_low_group_is_approved_as_a_whole(pipelines):
    pipelines.write("p", {"parallel": {"name": "both", "steps": [step("a", says=0.4)]}}, step("then"))
    run = pipelines.run("p")
    escalation = opened(run)
    assert escalation.step.name == "both"
    with pytest.raises(deciding.BadRevision, match="a group has no output"):
        deciding.revise(escalation.id, said(), output={})

    deciding.approve(escalation.id, said())

    assert go_on(run).status == "completed"


def test_a_group_waits_for_the_decision_on_each_of_its_branches(pipelines):
    unsure = [step(name, says=0.4, confidence_threshold=0.6) for name in ("one", "two")]
    pipelines.write("p", {"parallel": {"name": "both", "steps": unsure}})
    run = pipelines.run("p")
    for row in run.steps.filter(status=StepStatus.PENDING):
        drive.perform(Work("step", row.id))
    first, second = Escalation.objects.filter(run=run).order_by("id")

    deciding.approve(first.id, said())
    run.refresh_from_db()
    assert run.status == "escalated"

    deciding.abort(second.id, said())
    run.refresh_from_db()
    assert (run.status, steps_of(run)["both"].status) == ("aborted", "aborted")


def test_a_deadline_that_passed_is_remembered_until_it_is_handed_on(pipelines):
    pipelines.write("p", step("act", says=0.5, escalation={"to": "desk", "after_seconds": 60}))
    run = pipelines.run("p")
    due = opened(run).due_at

    overdue.settle(now=due)
    assert (opened(run).due_at, opened(run).overdue_since) == (None, due)

    deciding.hand_on(opened(run).id, said(now=due), to="leads")
    assert (opened(run).due_at, opened(run).overdue_since) == (due + timedelta(seconds=60), None)


def test_who_was_handed_it_at_the_last_moment_has_the_new_deadline(pipelines, monkeypatch):
    pipelines.write("p", step("act", says=0.5, escalation={"after_seconds": 60, "on_timeout": "abort"}))
    run = pipelines.run("p")
    due = opened(run).due_at
    real = deciding.abort

    def handed_on_first(escalation_id, *rest, **more):
        deciding.hand_on(escalation_id, said(now=due), to="leads")
        real(escalation_id, *rest, **more)

    monkeypatch.setattr(deciding, "abort", handed_on_first)
    overdue.settle(now=due)

    assert (opened(run).to, opened(run).decisions.get().kind) == ("leads", "escalate")


def test_asking_those_who_are_asked_already_is_refused(paused):
    deciding.hand_on(opened(paused).id, said(), to="leads")
    with pytest.raises(deciding.AskedAlready, match="leads is asked already"):
        deciding.hand_on(opened(paused).id, said(), to="leads")


def test_a_revision_that_changes_nothing_is_no_revision(paused):
    answer = steps_of(paused)["act"].parsed_output
    with pytest.raises(deciding.BadRevision, match="the same as the answer"):
        deciding.revise(opened(paused).id, said(), output=answer)


def test_every_problem_of_a_revision_is_named_by_its_field(paused):
    with pytest.raises(deciding.BadRevision) as refused:
        deciding.revise(opened(paused).id, said(), output={"summary": 1, "artifacts": {"log": 2}})
    assert set(refused.value.problems) == {"summary", "next_step_context", "artifacts"}


def test_what_a_person_decides_becomes_the_turn_of_the_agent_and_biases_its_next_gate(pipelines):
    # Two of five kept against claims of 50 %: drift -10 points, within a band of 5 it counts. 40 % becomes 50 %.
    bias = {"enforce": True, "window": 5, "min": 5, "band": 0.05}
    pipelines.write("p", step("act", says=0.5))
    for decide in ("approve", "revise", "escalate", "abort", "abort"):
        escalation = opened(pipelines.run("p"))
        if decide == "revise":
            output = {"confidence": 0.5, "summary": "other", "next_step_context": ""}
            deciding.revise(escalation.id, said(), output=output)
        elif decide == "escalate":
            deciding.hand_on(escalation.id, said(), to="second")
        else:
            getattr(deciding, decide)(escalation.id, said())
    pipelines.write("p", step("act", says=0.45, confidence_threshold=0.4, threshold_bias=bias))

    run = pipelines.run("p")

    report = steps_of(run)["act"].trust_report
    assert (report["confidence_threshold"], report["action"]) == (0.5, "escalate")
    assert report["stages"][-1]["inputs"]["bias"]["observed"] == 0.4
    assert "became 50%" in " ".join(narrative(report))


def test_silence_is_no_outcome_of_a_turn(pipelines):
    pipelines.write("p", step("act", says=0.5))
    escalation = opened(pipelines.run("p"))

    deciding.abort(escalation.id, said(by=""), kind=Decision.Kind.TIMEOUT)

    assert not Turn.objects.exists()
