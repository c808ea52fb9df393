"""Groups through the real engine: branches, joins, what later steps see, and what can go wrong in one of many."""

from datetime import timedelta

import pytest
from django.utils import timezone

from calibration.models import PromptVersion, Sample
from runs.engine import drive, leases
from runs.engine.work import Work
from runs.escalations import deciding
from runs.models import Escalation, StepStatus
from runs.trust import join
from tests.pipelines import calls, step, steps_of, wake

pytestmark = pytest.mark.django_db(transaction=True)


def fan_out(name="each", *, over="{{ data.hosts }}", **fields):
    return {"fan_out": {"over": over, **step(name, **fields)}}


def parallel(*branches, name="both", **fields):
    return {"parallel": {"name": name, "steps": list(branches), **fields}}


def finish(run):
    """Do what workers would with the messages of a group: take each waiting branch until the run rests."""
    for row in run.steps.filter(status=StepStatus.PENDING).order_by("branch"):
        drive.perform(Work("step", row.id))
    run.refresh_from_db()
    return run


INCLUDE = {"context_template": {"include": ["data"]}}


def test_a_fan_out_asks_its_agent_about_each_item_and_the_next_step_sees_all_answers(pipelines, tmp_path):
    log = tmp_path / "log"
    pipelines.write(
        "p",
        fan_out(
            prompt_template="{{ fan_out_index + 1 }} of {{ fan_out_total }}: {{ item.name }}", agent={"log": str(log)}
        ),
        step("sum", prompt_template="{{ steps.each | length }} answers, first {{ steps['each/0'].summary }}"),
        **INCLUDE,
    )

    run = finish(pipelines.run("p", data={"hosts": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}))

    steps = steps_of(run)
    assert run.status == "completed"
    assert sorted(call["prompt"] for call in calls(log)) == ["1 of 3: a", "2 of 3: b", "3 of 3: c"]
    assert steps["each"].combined_trust == 0.9
    assert [steps[f"each/{number}"].status for number in range(3)] == ["completed"] * 3
    assert PromptVersion.objects.filter(step="each").count() == 1  # of the group, not of each branch
    assert steps["sum"].prompt == "3 answers, first looked"


@pytest.mark.parametrize(
    ("hosts", "prompts"),
    [
        ([1, 2], ["1", "2"]),
        (["a b", "ü"], ["a b", "ü"]),
        ('["x", "y"]', ["x", "y"]),
        ("['it''s', 'y']", ["its", "y"]),
        ([None, True], ["None", "True"]),
    ],
)
def test_what_a_fan_out_can_be_over(pipelines, hosts, prompts):
    pipelines.write("p", fan_out(prompt_template="{{ item }}"), **INCLUDE)

    run = finish(pipelines.run("p", data={"hosts": hosts}))

    assert [row.prompt for row in run.steps.filter(branch__isnull=False).order_by("branch")] == prompts


@pytest.mark.parametrize(
    ("hosts", "error"),
    [
        ({"a": 1}, "over: needs a list, not an object"),
        ("nothing here", "over: needs a list, not a text: 'nothing here'"),
        (None, "over: needs a list, not none"),
        (7, "over: needs a list, not a number: '7'"),
        (list(range(21)), "over: gave 21 items, and max_items is 20"),
    ],
)
def test_what_it_cannot_be_over_fails_the_group_by_name(pipelines, hosts, error):
    pipelines.write("p", fan_out(), **INCLUDE)

    run = pipelines.run("p", data={"hosts": hosts})

    assert run.status == "failed"
    assert error in run.reason


def test_a_list_that_is_not_there_fails_the_group(pipelines):
    pipelines.write("p", fan_out(), **INCLUDE)

    run = pipelines.run("p", data={})

    assert (run.status, run.reason) == ("failed", "each failed: over: data.hosts is missing")


@pytest.mark.parametrize(
    ("on_empty", "group", "run_status"),
    [
        ("complete", "completed", "completed"),
        ("skip", "skipped", "completed"),
        ("abort", "aborted", "aborted"),
    ],
)
def test_an_empty_list(pipelines, on_empty, group, run_status):
    pipelines.write("p", {"fan_out": {**fan_out()["fan_out"], "on_empty": on_empty}}, **INCLUDE)

    run = pipelines.run("p", data={"hosts": []})

    assert (steps_of(run)["each"].status, run.status) == (group, run_status)
    assert run.reason == ("each: its list is empty" if on_empty == "abort" else "")


def test_a_template_error_in_one_branch_is_that_branchs_own(pipelines):
    group = fan_out(prompt_template="{{ 10 // item }}", join="any_must_pass")
    pipelines.write("p", group, **INCLUDE)

    run = finish(pipelines.run("p", data={"hosts": [5, 0, 2]}))

    steps = steps_of(run)
    assert [steps[f"each/{number}"].status for number in range(3)] == ["completed", "failed", "completed"]
    assert "zero" in steps["each/1"].error
    assert run.status == "completed"


def test_a_failed_branch_fails_all_must_pass_after_its_siblings_ended(pipelines):
    pipelines.write("p", parallel(step("good"), step("bad", agent={"exit": 1}), step("late")))

    run = finish(pipelines.run("p"))

    steps = steps_of(run)
    assert steps["both/late"].status == "completed"
    assert (steps["both"].status, run.status) == ("failed", "failed")
    assert "both/bad failed" in run.reason


def test_branches_have_their_own_signals_and_buckets(pipelines):
    check = {"type": "shell", "name": "ok", "run": "test {{ output.confidence }} = 0.8"}
    pipelines.write(
        "p",
        fan_out(says=0.8, deterministic_checks=[check]),
        parallel(step("one", says=0.9), step("two", says=0.7), confidence_threshold=0.5),
        **INCLUDE,
    )

    run = finish(finish(pipelines.run("p", data={"hosts": ["a", "b"]})))

    samples = Sample.objects.filter(group=run.id).select_related("bucket")
    assert sorted((one.bucket.step, one.confidence) for one in samples) == [
        ("both/one", 0.9),
        ("both/two", 0.7),
        ("each", 0.8),
        ("each", 0.8),
    ]
    assert run.steps.get(name="each/1").signals.get().passed is True
    assert run.status == "completed"


def test_a_low_branch_does_not_wait_for_a_person_by_itself_but_the_group_does(pipelines):
    pipelines.write("p", parallel(step("sure", says=0.9), step("unsure", says=0.4)))

    run = finish(pipelines.run("p"))

    steps = steps_of(run)
    assert steps["both/unsure"].status == "completed"
    assert steps["both/unsure"].trust_report["stages"][-1]["reason"] == "left_to_group"
    assert (steps["both"].status, steps["both"].combined_trust, run.status) == ("escalated", 0.4, "escalated")


def test_a_branch_with_a_threshold_of_its_own_waits_after_its_siblings_have_finished(pipelines):
    own = step("unsure", says=0.4, confidence_threshold=0.6)
    pipelines.write("p", parallel(own, step("sure", says=0.9), confidence_threshold=0.1))

    run = pipelines.run("p")
    assert (steps_of(run)["both/unsure"].status, run.status) == ("escalated", "running")
    finish(run)

    assert steps_of(run)["both/sure"].status == "completed"
    assert (run.status, run.reason) == ("escalated", "both: both/unsure waits for a person.")


def test_a_failed_check_in_a_branch_makes_the_average_zero(pipelines):
    check = {"type": "shell", "name": "no", "run": "false"}
    group = parallel(
        step("a"), step("b", deterministic_checks=[check]), join="weighted_average", confidence_threshold=0.1
    )
    pipelines.write("p", group)

    run = finish(pipelines.run("p"))

    assert (steps_of(run)["both"].combined_trust, run.status) == (0.0, "escalated")


def test_a_branch_whose_when_is_false_is_skipped(pipelines):
    pipelines.write("p", parallel(step("a"), step("b", when="summary == 'no'")))

    run = finish(pipelines.run("p"))

    assert (steps_of(run)["both/b"].status, run.status) == ("skipped", "completed")


def test_a_group_whose_when_is_false_has_no_branches(pipelines):
    pipelines.write("p", parallel(step("a"), when="summary == 'no'"), step("then"))

    run = pipelines.run("p")

    steps = steps_of(run)
    assert (steps["both"].status, steps["then"].status, "both/a" in steps) == ("skipped", "completed", False)


def test_taking_a_group_while_branches_are_open_does_nothing(pipelines):
    pipelines.write("p", parallel(step("a"), step("b")))
    run = pipelines.run("p")
    group = run.steps.get(name="both")

    drive.perform(Work("step", group.id))

    group.refresh_from_db()
    assert (group.status, group.awaited, group.leased) == ("running", 1, False)


def test_the_pages_of_a_run_with_groups_open(pipelines, client, django_user_model):
    pipelines.write("p", fan_out(), parallel(step("a"), step("b", says=0.4)), **INCLUDE)
    run = finish(finish(pipelines.run("p", data={"hosts": [1, 2]})))
    client.force_login(django_user_model.objects.create_superuser("root"))

    page = client.get(f"/ui/runs/{run.id}").content.decode()

    assert run.status == "escalated"
    assert "The weakest branch counts." in page
    page = page[page.index("<bdi>each</bdi>") :]  # the banner above names the group that waits
    page = page[page.index('data-branches="each"') :]  # and the overview names groups, not branches
    order = [page.index(name) for name in (">each/0<", ">each/1<", 'data-branches="both"', ">both/a<", ">both/b<")]
    assert order == sorted(order)
    branch = client.get(f"/ui/runs/{run.id}/step?name=each/0").content.decode()
    assert "goes to its group" in branch or "Its group counts it with" in branch
    assert client.get("/ui/pipelines/p").status_code == 200
    assert client.get(f"/runs/{run.id}").status_code == 200


def test_what_has_not_finished_when_the_time_of_a_parallel_group_is_over_fails(pipelines):
    pipelines.write("p", parallel(step("a"), step("b"), timeout_seconds=60, join="any_must_pass"))
    run = pipelines.run("p")
    group = run.steps.get(name="both")
    assert group.wake_at == group.created_at + timedelta(seconds=60)
    an_hour_ago(group)

    drive.perform(Work("step", group.id))

    run.refresh_from_db()
    late = steps_of(run)["both/b"]
    assert (late.status, late.error) == ("failed", "not finished within the 60 seconds of its group")
    assert (steps_of(run)["both"].status, run.status) == ("completed", "completed")


def test_the_time_of_a_fan_out_is_each_branchs_own(pipelines):
    pipelines.write("p", fan_out(timeout_seconds=60), **INCLUDE)
    run = pipelines.run("p", data={"hosts": [1, 2]})
    group = run.steps.get(name="each")
    an_hour_ago(group)

    drive.perform(Work("step", group.id))

    assert steps_of(run)["each/1"].status == "pending"


def an_hour_ago(row):
    row.__class__.objects.filter(id=row.id).update(created_at=timezone.now() - timedelta(hours=1))


def test_a_branch_whose_worker_died_before_it_began_is_begun_by_the_next(pipelines, tmp_path):
    log = tmp_path / "log"
    pipelines.write(
        "p", parallel(step("a"), step("b", agent={"log": str(log)})), durable={"on_interrupted": "escalate"}
    )
    run = pipelines.run("p")
    assert leases.claim(run.steps.get(name="both/b").id, now=timezone.now()) is not None

    wake(run)

    assert (run.status, len(calls(log))) == ("completed", 1)


def test_a_group_that_failed_asks_nobody_about_its_branches_any_more(pipelines):
    own = step("unsure", says=0.4, confidence_threshold=0.6)
    pipelines.write("p", parallel(own, step("bad", agent={"exit": 1})))

    run = finish(pipelines.run("p"))

    assert run.status == "failed"
    assert Escalation.objects.get(run=run).state == "withdrawn"


def test_a_decision_between_the_reading_and_the_writing_of_a_join_counts(pipelines, monkeypatch):
    """Else the run would wait for a person whom nobody asks any more."""
    own = step("unsure", says=0.4, confidence_threshold=0.6)
    pipelines.write("p", parallel(step("sure"), own))
    run = pipelines.run("p")
    evaluate, answers = join.evaluate, []

    def decided_in_between(branches, **fields):
        joined = evaluate(branches, **fields)
        answers.append(joined.outcome)
        if len(answers) == 1:
            escalation = Escalation.objects.get(run=run)
            deciding.approve(escalation.id, deciding.Said(by="ann", reason="", now=timezone.now()))
        return joined

    monkeypatch.setattr(join, "evaluate", decided_in_between)
    finish(run)

    assert answers == ["escalated", "completed"]
    assert run.status == "completed"


def test_a_branch_does_not_see_its_siblings(pipelines):
    pipelines.write(
        "p", step("first"), parallel(step("a"), step("b", prompt_template="{{ steps | list | join(' ') }}"))
    )

    run = finish(pipelines.run("p"))

    assert steps_of(run)["both/a"].status == "completed"
    assert steps_of(run)["both/b"].prompt == "first"
