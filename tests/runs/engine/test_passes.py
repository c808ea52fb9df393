"""Tries and passes: how often an agent is asked, with what, and which answer counts."""

import sys
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from runs.engine import drive
from runs.engine.work import Work
from runs.models import RunStatus, Step, StepStatus
from tests.pipelines import Pipelines, agent, calls, judge, step, steps_of, wake

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_retry_asks_again_after_a_pause_that_holds_no_worker(pipelines, tmp_path):
    log = tmp_path / "log"
    retry = {"attempts": 3, "delay_seconds": 60}
    pipelines.write("retry", step(retry=retry, agent={"log": str(log), "raw": ["no JSON", "still none", None]}))
    run = pipelines.run("retry")
    row = steps_of(run)["look"]
    assert (row.status, row.leased, row.tries) == (StepStatus.PENDING, False, 1)
    assert timedelta(seconds=50) < row.wake_at - timezone.now() < timedelta(seconds=61)
    wake(run)
    wake(run)
    assert run.status == RunStatus.COMPLETED
    assert len({call["key"] for call in calls(log)}) == 3  # a refused answer must not be served again
    assert run.events.filter(kind="step.retry").count() == 2


def test_a_retry_ends_after_its_attempts(pipelines, tmp_path):
    log = tmp_path / "log"
    pipelines.write("retry", step(retry={"attempts": 2}, agent={"log": str(log), "exit": 1}))
    run = pipelines.run("retry")
    wake(run)
    assert run.status == RunStatus.FAILED
    assert len(calls(log)) == 2


def test_low_confidence_is_never_retried(pipelines, tmp_path):
    log = tmp_path / "log"
    pipelines.write("retry", step(says=0.1, retry={"attempts": 5}, agent={"log": str(log), "says": 0.1}))
    assert pipelines.run("retry").status == RunStatus.ESCALATED
    assert len(calls(log)) == 1


@pytest.mark.parametrize(("backoff", "pauses"), [("fixed", [8, 8, 8]), ("exponential", [8, 16, 32])])
def test_pauses_between_tries(pipelines: Pipelines, backoff: str, pauses: list[float]) -> None:
    retry = {"attempts": 4, "delay_seconds": 8, "backoff": backoff}
    pipelines.write("retry", step(retry=retry, agent={"exit": 1}))
    run = pipelines.run("retry")
    for pause in pauses:
        row = steps_of(run)["look"]
        assert timedelta(seconds=pause - 5) < row.wake_at - timezone.now() <= timedelta(seconds=pause)
        drive.perform(Work("step", row.id))
    run.refresh_from_db()
    assert run.status == RunStatus.FAILED


def test_an_independent_verifier_in_a_loop_is_asked_what_the_first_pass_was_asked(
    pipelines: Pipelines, tmp_path: Any
) -> None:
    looped = step(
        loop_until={"confidence": 0.8},
        prompt_template="Look.{% if loop.prior_output %} Before: {{ loop.prior_output.summary }}{% endif %}",
        agent={"log": str(tmp_path / "agent"), "says": [0.3, 0.9]},
        verifier={**judge(says=0.9, log=str(tmp_path / "verifier")), "mode": "independent"},
    )
    pipelines.write("loop", looped)
    assert pipelines.run("loop").status == RunStatus.COMPLETED
    assert [call["prompt"] for call in calls(tmp_path / "agent")] == ["Look.", "Look. Before: looked"]
    assert [call["prompt"] for call in calls(tmp_path / "verifier")] == ["Look.", "Look."]


def test_the_timeout_of_the_executors_configuration_holds_where_the_step_names_none(pipelines: Pipelines) -> None:
    slow = step(agent={"sleep": 30})
    slow["executor_config"]["timeout_seconds"] = 0.3
    pipelines.write("slow", slow)
    run = pipelines.run("slow")
    assert run.status == RunStatus.FAILED
    assert "no answer within 0.3 s" in run.reason


def test_what_a_slow_agent_does_shows_in_the_log_while_it_does_it(pipelines: Pipelines, tmp_path: Any) -> None:
    program = tmp_path / "agent.py"
    program.write_text(
        "import json, pathlib, time\n"
        "say = lambda **event: print(json.dumps(event), flush=True)\n"
        "say(type='tool_call', name='grep', input={'in': 'log'})\n"
        "time.sleep(0.6)\n"
        "say(type='tool_result', name='grep', content='7 lines')\n"
        "say(confidence=0.9, summary='looked', next_step_context='')\n"
    )
    pipelines.write("slow", {**step(), "executor_config": {"command": [sys.executable, str(program)]}})
    run = pipelines.run("slow")
    told = [(event.kind, event.message) for event in run.events.filter(kind__startswith="agent.").order_by("id")]
    assert told == [("agent.tool_call", 'grep {"in": "log"}'), ("agent.tool_result", "grep 7 lines")]


def test_later_steps_see_trust_confidence_and_status(pipelines: Pipelines, tmp_path: Any) -> None:
    checked = step("first", says=0.9, verifier=judge(says=0.8), grounding={**judge(says=0.7), "enforce": True},
                   confidence_threshold=0.5)  # fmt: skip
    seen = "{{ steps.first.trust }} {{ steps.first.confidence }} {{ steps.first.status }}"
    pipelines.write("two", checked, step("second", prompt_template=seen, agent={"log": str(tmp_path / "log")}))
    pipelines.run("two")
    assert calls(tmp_path / "log")[0]["prompt"] == "0.7 0.8 completed"


def test_checks_stand_in_the_report_in_the_order_of_the_pipeline(pipelines: Pipelines) -> None:
    checks = [{"type": "shell", "name": name, "run": f"sleep {seconds}"} for name, seconds in
              (("last to end", 0.3), ("second", 0.1), ("first to end", 0))]  # fmt: skip
    pipelines.write("checked", step(deterministic_checks=checks))
    report = Step.objects.get(run=pipelines.run("checked")).trust_report
    told = [check["name"] for check in report["stages"][4]["inputs"]["checks"]]
    assert told == ["last to end", "second", "first to end"]


def test_a_loop_ends_when_confident_enough(pipelines, tmp_path):
    log = tmp_path / "log"
    pipelines.write(
        "loop",
        step(
            loop_until={"confidence": 0.8, "max_iterations": 5},
            prompt_template="Pass {{ loop.iteration }}"
            "{% if loop.prior_output %}, said {{ loop.prior_confidence }}{% endif %}",
            agent={"log": str(log), "says": [0.3, 0.85, 0.99]},
        ),
    )
    run = pipelines.run("loop")
    row = steps_of(run)["look"]
    assert [call["prompt"] for call in calls(log)] == ["Pass 1", "Pass 2, said 0.3"]
    assert (run.status, row.primary_confidence) == (RunStatus.COMPLETED, 0.85)
    assert [one["chosen"] for one in row.iterations] == [False, True]


def test_the_most_confident_pass_counts(pipelines):
    pipelines.write(
        "loop",
        step(loop_until={"confidence": 0.9, "max_iterations": 3}, agent={"log": "", "says": [0.5, 0.8, 0.6]})
        | {"executor_config": agent(says=[0.5, 0.8, 0.6], log=str(pipelines.folder / "log"))},
    )
    row = steps_of(pipelines.run("loop"))["look"]
    assert (row.primary_confidence, row.combined_trust) == (0.8, 0.8)
    assert [one["chosen"] for one in row.iterations] == [False, True, False]


def test_of_equally_confident_passes_the_first_counts(pipelines, tmp_path):
    says = [{"confidence": 0.6, "summary": "one"}, {"confidence": 0.6, "summary": "two"}]
    looped = step(
        loop_until={"confidence": 0.9, "max_iterations": 2}, agent={"log": str(tmp_path / "log"), "says": says}
    )
    pipelines.write("loop", looped)
    row = steps_of(pipelines.run("loop"))["look"]
    assert (row.parsed_output["summary"], [one["chosen"] for one in row.iterations]) == ("one", [True, False])


def test_each_pass_has_tries_of_its_own(pipelines, tmp_path):
    log = tmp_path / "log"
    looped = step(
        loop_until={"confidence": 0.8, "max_iterations": 2},
        retry={"attempts": 2},
        agent={"log": str(log), "says": [0.3, 0.5, 0.9], "raw": [None, "no JSON", None]},
    )
    pipelines.write("loop", looped)
    run = pipelines.run("loop")
    wake(run)
    assert (run.status, steps_of(run)["look"].primary_confidence) == (RunStatus.COMPLETED, 0.9)
    assert len(calls(log)) == 3


def test_the_verifier_judges_each_pass_and_the_rest_only_the_one_that_counts(pipelines, tmp_path):
    verifier = judge(says=[0.7, 0.4], log=str(tmp_path / "verifier"))
    checks = [{"type": "shell", "name": "yes", "run": f"echo x >> {tmp_path / 'check'}"}]
    pipelines.write(
        "loop",
        step(
            loop_until={"confidence": 0.9, "max_iterations": 2},
            agent={"log": str(tmp_path / "log"), "says": [0.8, 0.85]},
            verifier=verifier,
            deterministic_checks=checks,
            confidence_threshold=0.5,
        ),
    )
    row = steps_of(pipelines.run("loop"))["look"]
    # Pass 1: min(.8, .7) = .7; pass 2: min(.85, .4) = .4. The first counts, with its own verifier.
    assert (row.primary_confidence, row.verifier_confidence, row.combined_trust) == (0.8, 0.7, 0.7)
    assert len(calls(tmp_path / "verifier")) == 2
    assert (tmp_path / "check").read_text() == "x\n"


def test_a_timeout_fails_the_step(pipelines):
    pipelines.write("slow", step(timeout_seconds=0.3, agent={"sleep": 30}))
    run = pipelines.run("slow")
    assert run.status == RunStatus.FAILED
    assert "0.3" in run.reason
