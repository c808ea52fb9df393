"""What each answer to a question is said to do, and that silence never is a yes."""

from datetime import timedelta

import pytest
from django.utils import timezone

from runs.engine import drive
from runs.engine.work import Work
from runs.escalations import overdue
from runs.escalations.answers import answers
from runs.models import Approval, Run
from runs.models.step import UNFINISHED
from tests.pipelines import Pipelines, human, human_check, step, steps_of

pytestmark = pytest.mark.django_db(transaction=True)


def asked(pipelines: Pipelines, *steps, **fields) -> tuple[Approval, Run]:
    pipelines.write("p", *steps, **fields)
    run = Run.objects.select_related("version").get(id=pipelines.run("p").id)
    return Approval.objects.select_related("step").get(run=run), run


def test_a_human_step_that_may_fail_lets_the_run_go_on(pipelines):
    found = answers(*asked(pipelines, human(timeout_seconds=60, on_failure="continue"), step("after")))
    assert found.reject == "The run ends as aborted. Nothing after this step is started."
    assert found.silence == (
        "If nobody answers by then, the step fails, and the run goes on all the same, as the pipeline says. "
        "Then step after runs. Silence is never approval."
    )


def test_a_human_branch_ends_with_its_group(pipelines):
    group = {"parallel": {"name": "both", "steps": [human("ask", timeout_seconds=60), step("look")]}}
    found = answers(*asked(pipelines, group))
    joined = "group both is joined once its other branches have ended."
    assert found.approve == f"This branch is completed, and {joined}"
    assert found.silence == f"If nobody answers by then, this branch fails, and {joined} Silence is never approval."


@pytest.mark.parametrize(
    ("policy", "then"),
    [
        ("escalate", "A person is asked what should happen then."),
        ("abort", "The run ends as aborted."),
        ("proceed", "The run goes on all the same, as the pipeline says."),
    ],
)
def test_a_check_that_fails_is_what_the_step_makes_of_low_trust(pipelines, policy, then):
    looking = step("look", deterministic_checks=[human_check()], on_low_confidence=policy)
    found = answers(*asked(pipelines, looking, step("after")))
    assert found.reject == f"The check fails, so trust in this step is 0. {then}"


@pytest.mark.parametrize(("policy", "status"), [("abort", "aborted"), ("proceed", "completed")])
def test_and_that_is_what_happens(pipelines, policy, status):
    looking = step("look", deterministic_checks=[human_check()], on_low_confidence=policy)
    approval, run = asked(pipelines, looking)
    overdue.settle(now=approval.due_at)
    for row in run.steps.filter(status__in=UNFINISHED, awaited=0):
        drive.perform(Work("step", row.id))
    run.refresh_from_db()
    assert run.status == status


@pytest.mark.parametrize("stage", ["testing", "production"])
def test_silence_is_approval_in_no_stage(pipelines, stage):
    approval, run = asked(pipelines, human(timeout_seconds=60), step("after"), stage=stage)
    assert overdue.settle(now=approval.due_at) == 1
    drive.perform(Work("step", approval.step_id))
    run.refresh_from_db()
    assert (run.stage, run.status, "after" in steps_of(run)) == (stage, "failed", False)
    approval.refresh_from_db()
    assert approval.state == "timed_out"


def test_without_a_deadline_silence_waits(pipelines):
    approval, _ = asked(pipelines, human())
    assert overdue.settle(now=timezone.now() + timedelta(days=400)) == 0
    approval.refresh_from_db()
    assert approval.state == "open"
