"""What steps cost, priced once, when they end."""

import pytest
from django.utils import timezone

from runs import books
from runs.engine import closing
from runs.models import Run, Step
from runs.spending import Spent
from tests.pipelines import step, steps_of, wake
from tests.runs.engine.costing import COST, PRICES, free, paid, paid_judge, set_prices, usage
from tests.runs.engine.rows import a_run, a_step
from tests.runs.engine.test_groups import INCLUDE, fan_out, finish

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def prices(settings):
    set_prices(settings, PRICES)


def totals(run):
    return (run.tokens, run.steps_untold, run.cost_nanos, run.steps_unpriced)


def booked():
    return books.by_team(since=timezone.now().date())


def test_a_step_costs_what_its_call_took_and_so_does_its_run(pipelines):
    pipelines.write("p", paid("one"), paid("two"), step("untold"), free())

    run = pipelines.run("p")

    steps = steps_of(run)
    assert {name: row.cost_nanos for name, row in steps.items()} == {
        "one": COST, "two": COST, "untold": None, "free": 0,
    }  # fmt: skip
    assert totals(run) == (2200, 1, 2 * COST, 1)
    assert booked() == {"": Spent(3, 2200, 1, 2 * COST, 1)}


def test_a_model_without_a_price_is_unknown_and_its_tokens_are_known(pipelines):
    pipelines.write("p", paid(trace=usage(model="small")))

    run = pipelines.run("p")

    assert steps_of(run)["look"].cost_nanos is None
    assert totals(run) == (1100, 0, 0, 1)


def test_verifier_and_judge_are_part_of_it(pipelines):
    pipelines.write("p", paid(verifier=paid_judge(says=0.9), grounding=paid_judge(says=0.9)))

    run = pipelines.run("p")

    assert steps_of(run)["look"].cost_nanos == 3 * COST
    assert totals(run) == (3300, 0, 3 * COST, 0)


@pytest.mark.parametrize("judge", [{"trace": []}, {"trace": usage(provider="who")}, {"exit": 1}])
def test_a_judge_without_a_known_cost_makes_the_step_unknown(pipelines, judge):
    pipelines.write("p", paid(verifier=paid_judge(**judge)))

    run = pipelines.run("p")

    assert steps_of(run)["look"].cost_nanos is None
    assert run.steps_unpriced == 1


def test_a_verifier_that_was_not_called_costs_nothing(pipelines):
    never = {"confidence_below": 0.5}
    pipelines.write("p", paid(verifier={**paid_judge(trace=[]), "trigger": never}))
    assert steps_of(pipelines.run("p"))["look"].cost_nanos == COST


def test_every_pass_of_a_loop_counts_with_its_verifier(pipelines, tmp_path):
    pipelines.write(
        "p",
        paid(
            says=[0.3, 0.4, 0.2],
            agent={"log": str(tmp_path / "log")},
            confidence_threshold=0,
            verifier=paid_judge(says=0.9),
            loop_until={"confidence": 0.9, "max_iterations": 3},
        ),
    )

    run = pipelines.run("p")

    assert steps_of(run)["look"].cost_nanos == 6 * COST
    assert totals(run) == (6600, 0, 6 * COST, 0)


def test_a_try_that_told_its_tokens_counts_and_one_that_told_none_does_not(pipelines, tmp_path):
    log = {"log": str(tmp_path / "log")}
    retry = {"attempts": 4, "delay_seconds": 60}
    pipelines.write(
        "p", paid(retry=retry, agent={**log, "raw": ["no JSON", "still", None, None], "exit": [0, 0, 1, 0]})
    )
    run = pipelines.run("p")
    for _ in range(3):
        wake(run)

    assert run.status == "completed"
    assert steps_of(run)["look"].cost_nanos == 3 * COST
    assert totals(run) == (3300, 0, 3 * COST, 0)


def test_a_pass_that_failed_counts_too(pipelines, tmp_path):
    log = {"log": str(tmp_path / "log")}
    loop = {"confidence": 0.95, "max_iterations": 3}
    pipelines.write("p", paid(agent={**log, "raw": [None, "no JSON"]}, loop_until=loop))

    run = pipelines.run("p")

    assert run.status == "completed"
    assert steps_of(run)["look"].cost_nanos == 2 * COST


def test_a_step_that_failed_is_priced_if_it_told_its_tokens(pipelines):
    pipelines.write("told", paid(agent={"raw": "no JSON"}))
    pipelines.write("untold", paid(agent={"exit": 1}))

    told, untold = pipelines.run("told"), pipelines.run("untold")

    assert (told.status, totals(told)) == ("failed", (1100, 0, COST, 0))
    assert (untold.status, totals(untold)) == ("failed", (0, 1, 0, 1))


def test_a_step_that_never_called_cost_nothing(pipelines):
    pipelines.write("p", paid("broken", when="data.x.y"), **INCLUDE)

    run = pipelines.run("p", data={})

    assert (run.status, steps_of(run)["broken"].cost_nanos) == ("failed", 0)
    assert totals(run) == (0, 0, 0, 0)
    assert booked() == {}


def test_branches_count_and_a_group_shows_their_sum(pipelines):
    pipelines.write("p", fan_out(prompt_template="{{ item }}", agent={"trace": usage()}), **INCLUDE)

    run = finish(pipelines.run("p", data={"hosts": [1, 2, 3]}))

    assert run.status == "completed"
    assert steps_of(run)["each"].cost_nanos == 3 * COST
    assert totals(run) == (3300, 0, 3 * COST, 0)
    assert booked() == {"": Spent(3, 3300, 0, 3 * COST, 0)}


def test_a_run_within_a_run_is_part_of_its_step_and_is_booked_once(pipelines):
    nested = {"name": "sub", "executor": "pipeline", "executor_config": {"pipeline": "inner"}}
    pipelines.write("inner", paid("one"), step("untold"))
    pipelines.write("outer", nested, paid("after"))

    run = pipelines.run("outer")

    assert steps_of(run)["sub"].cost_nanos is None
    assert totals(run) == (2200, 1, 2 * COST, 1)
    assert totals(Run.objects.get(pipeline_name="inner")) == (1100, 1, COST, 1)
    assert booked() == {"": Spent(3, 2200, 1, 2 * COST, 1)}


def test_a_call_that_is_cut_off_is_unknown_not_free():
    run = a_run(triggered_at=timezone.now(), team="ops")
    now = timezone.now()
    a_step(run, agent="command:x", status="running", started_at=now)
    a_step(run, name="each/0", agent="command:x", status="pending", branch=0)  # nobody has begun it
    a_step(run, name="done", agent="command:x", status="completed", started_at=now, completed_at=now, cost_nanos=5)

    assert closing.cancel(run_id=run.id, by="ada", now=now)

    run.refresh_from_db()
    assert totals(run) == (0, 1, 0, 1)
    assert booked() == {"ops": Spent(1, 0, 1, 0, 1)}
    assert Step.objects.get(name="look").cost_nanos is None


def test_a_price_that_changes_changes_no_step_that_has_ended(pipelines, settings):
    pipelines.write("p", paid())
    run = pipelines.run("p")
    set_prices(settings, [])
    assert steps_of(run)["look"].cost_nanos == COST
    assert totals(pipelines.run("p")) == (1100, 0, 0, 1)
