"""When a run goes no further until a person answers."""

import pytest
from django.utils import timezone

from runs.intake.follow import follow
from runs.intake.held_up import questions
from runs.models import Run, RunStatus
from tests import factories
from tests.pipelines import human, human_check, nested, step

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_that_waits_for_a_person_alone_is_followed_no_further(pipelines):
    pipelines.write("p", human(), step("after"))
    run = pipelines.run("p")
    assert questions(run.id) == ["ask: Restart disk full?"]
    assert [event.kind for event in follow(run.id)][-1] == "step.waiting"


def test_a_check_that_waits_is_one_too(pipelines):
    pipelines.write("p", step("look", deterministic_checks=[human_check()]))
    assert questions(pipelines.run("p").id) == ["sign-off: Is looked right?"]


def test_while_another_branch_works_it_is_not_held_up(pipelines):
    pipelines.write("p", {"parallel": {"name": "both", "steps": [human(), step("look")]}})
    run = pipelines.run("p")
    assert questions(run.id) == []


@pytest.mark.parametrize("inner", [human(), step("look", says=0.2)])
def test_what_its_inner_run_waits_for_holds_it_up(pipelines, inner):
    pipelines.write("inner", inner)
    pipelines.write("outer", nested())
    assert len(questions(pipelines.run("outer").id)) == 1


def test_an_inner_run_that_works_does_not_hold_it_up(pipelines):
    pipelines.write("inner", human(), step("look"))
    pipelines.write("outer", nested())
    run = pipelines.run("outer")
    inner = Run.objects.get(parent_step__run=run)
    Run.objects.filter(id=inner.id).update(status=RunStatus.QUEUED)
    assert questions(run.id) == []


def test_a_run_at_rest_asks_nothing():
    assert questions(factories.run(status="completed", triggered_at=timezone.now()).id) == []
