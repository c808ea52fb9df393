"""Budgets through the real engine: the run ends after the step that exceeds one, branches at once included."""

import threading

import pytest
from django.utils import timezone

from runs.engine import drive, overspent
from runs.engine.work import Work
from runs.escalations import deciding
from runs.models import Escalation, Run, StepStatus
from tests.at_once import at_once
from tests.pipelines import step, steps_of, wake
from tests.runs.engine.costing import PRICES, free, paid, set_prices, usage
from tests.runs.engine.test_groups import INCLUDE, fan_out, finish

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def prices(settings):
    set_prices(settings, PRICES)


def test_the_run_is_aborted_after_the_step_that_exceeds_it(pipelines):
    pipelines.write("p", paid("one"), paid("two"), paid("three"), budget={"max_tokens": 2000})

    run = pipelines.run("p")

    assert run.status == "aborted"
    assert run.reason == "two: over budget: 2,200 tokens spent, max_tokens is 2,000"
    assert {name: row.status for name, row in steps_of(run).items()} == {"one": "completed", "two": "completed"}
    assert run.completed_at is not None
    assert run.events.filter(kind="run.ended", message__contains=run.reason).count() == 1


def test_exactly_the_budget_is_within_it(pipelines):
    pipelines.write("p", paid("one"), paid("two"), budget={"max_tokens": 2200, "max_usd": 0.006})
    assert pipelines.run("p").status == "completed"


def test_money_is_counted_exactly(pipelines):
    pipelines.write("p", paid("one"), paid("two"), budget={"max_usd": 0.005999999})
    run = pipelines.run("p")
    assert (run.status, run.reason) == ("aborted", "two: over budget: 0.006 $ spent, max_usd is 0.005999999")


def test_an_answer_too_many_at_the_end_aborts_too(pipelines):
    pipelines.write("p", paid(), budget={"max_tokens": 1099})
    assert pipelines.run("p").status == "aborted"


@pytest.mark.parametrize("says", [{"confidence": 0.9, "proceed": False}, 0.1])
def test_over_budget_nobody_is_asked_and_nothing_stops_cleanly(pipelines, says):
    pipelines.write("p", paid(says=says), budget={"max_tokens": 10})

    run = pipelines.run("p")

    assert run.status == "aborted"
    assert not Escalation.objects.filter(state="open").exists()


@pytest.mark.parametrize(("agent", "status"), [({"raw": "no JSON"}, "failed"), ({}, "aborted")])
def test_a_run_that_ends_badly_keeps_its_own_reason(pipelines, agent, status):
    pipelines.write("p", paid(agent=agent, says=0.1, on_low_confidence="abort"), budget={"max_tokens": 10})

    run = pipelines.run("p")

    assert run.status == status
    assert "budget" not in run.reason


def test_a_failure_that_may_be_passed_over_does_not_pass_over_the_budget(pipelines):
    pipelines.write(
        "p", paid("one", agent={"raw": "no JSON"}, on_failure="continue"), paid("two"), budget={"max_tokens": 10}
    )
    assert pipelines.run("p").reason == "one: over budget: 1,100 tokens spent, max_tokens is 10"


def test_an_unpriced_step_leaves_a_budget_in_money_unchecked_and_so_aborts(pipelines):
    pipelines.write("p", paid("one"), paid("two", trace=usage(model="small")), paid("three"), budget={"max_usd": 1})

    run = pipelines.run("p")

    assert run.status == "aborted"
    assert run.reason == (
        "two: budget cannot be checked: 1 step without a known price beside 0.003 $ spent, max_usd is 1"
    )


def test_it_goes_on_with_a_warning_while_its_tokens_can_be_checked(pipelines):
    budget = {"max_usd": 1, "max_tokens": 2500}
    pipelines.write("p", paid("one", trace=usage(model="small")), free(), paid("two"), paid("three"), budget=budget)

    run = pipelines.run("p")

    assert run.reason == "three: over budget: 3,300 tokens spent, max_tokens is 2,500"
    [told] = run.events.filter(kind="budget.unknown")
    assert (told.step_name, told.level) == ("one", "warning")
    assert "1 step without a known price" in told.message


def test_a_run_that_waited_for_a_person_knows_what_it_spent_before(pipelines):
    pipelines.write("p", paid("one", says=0.2), paid("two"), paid("three"), budget={"max_tokens": 2000})
    run = pipelines.run("p")
    assert run.status == "escalated"
    said = deciding.Said(by="ada", reason="", now=timezone.now())

    deciding.approve(Escalation.objects.get(run=run).id, said)
    drive.perform(Work("run", run.id))

    run.refresh_from_db()
    assert run.reason == "two: over budget: 2,200 tokens spent, max_tokens is 2,000"


def test_a_run_within_a_run_counts_against_the_outer_budget(pipelines):
    nested = {"name": "sub", "executor": "pipeline", "executor_config": {"pipeline": "inner"}}
    pipelines.write("inner", paid("one"), paid("two"))
    pipelines.write("outer", nested, step("after"), budget={"max_tokens": 2000})

    run = pipelines.run("outer")

    assert run.reason == "sub: over budget: 2,200 tokens spent, max_tokens is 2,000"
    assert Run.objects.get(pipeline_name="inner").status == "completed"


def each(*, says=0.9, **fields):
    return fan_out(prompt_template="{{ item }}", agent={"trace": usage(), "says": says}, **fields)


def test_branches_count_and_those_that_have_not_begun_never_do(pipelines):
    pipelines.write("p", each(), step("after"), budget={"max_tokens": 2000}, **INCLUDE)

    run = finish(pipelines.run("p", data={"hosts": [1, 2, 3, 4]}))

    assert run.status == "aborted"
    assert run.reason == "each/1: over budget: 2,200 tokens spent, max_tokens is 2,000"
    statuses = {name: row.status for name, row in steps_of(run).items()}
    assert statuses == {
        "each": "aborted", "each/0": "completed", "each/1": "completed", "each/2": "aborted", "each/3": "aborted",
    }  # fmt: skip
    assert (run.tokens, run.steps_untold) == (2200, 0)
    wake(run)
    assert run.status == "aborted"


def test_an_escalated_branch_over_budget_asks_nobody(pipelines):
    pipelines.write("p", each(says=0.1),
                    budget={"max_tokens": 10}, **INCLUDE)  # fmt: skip
    run = finish(pipelines.run("p", data={"hosts": [1, 2]}))
    assert run.status == "aborted"
    assert not Escalation.objects.filter(state="open").exists()


def test_of_branches_that_end_at_once_exactly_one_exceeds_the_budget(pipelines, monkeypatch):
    # 6 x 1100 tokens; the fourth to end is over 4000, whichever that is. The first has ended, the rest do so together.
    pipelines.write("p", each(), budget={"max_tokens": 4000}, **INCLUDE)
    run = pipelines.run("p", data={"hosts": list(range(6))})
    waiting = list(run.steps.filter(status=StepStatus.PENDING).values_list("id", flat=True))
    together, verdicts = threading.Barrier(len(waiting)), []

    def commit_branch(*args, **kwargs):
        together.wait(timeout=20)
        verdicts.append(commit(*args, **kwargs))
        return verdicts[-1]

    commit = overspent.commit_branch
    monkeypatch.setattr("runs.engine.overspent.commit_branch", commit_branch)

    at_once(*[lambda id_=id_: drive.perform(Work("step", id_)) for id_ in waiting])

    run.refresh_from_db()
    assert run.status == "aborted"
    assert run.reason.endswith("over budget: 4,400 tokens spent, max_tokens is 4,000")
    assert verdicts.count(True) == 1
    # The two that came too late could not be written, and what they took is not known.
    branches = run.steps.filter(branch__isnull=False)
    assert sorted(branches.values_list("status", flat=True)) == ["aborted"] * 2 + ["completed"] * 4
    assert (run.tokens, run.steps_untold, run.steps_unpriced) == (4400, 2, 2)
