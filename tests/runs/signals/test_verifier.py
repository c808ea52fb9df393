import json

import pytest

from runs.pipelines.schema import Verifier
from runs.signals import verifier
from runs.signals.judge import NOTHING_TO_JUDGE
from runs.signals.verifier import differences, triggered
from tests.runs.signals.given import ANSWER, echoes, no_stop, says, subject, verdict


def config(**fields: object) -> Verifier:
    return Verifier.model_validate({"executor": "command", "executor_config": says(verdict(0.7))} | fields)


@pytest.mark.parametrize(
    ("trigger", "confidence", "fires"),
    [
        (None, 1.0, True),
        (None, 0.0, True),
        ({}, 1.0, False),  # the default band is open at both ends
        ({}, 0.999, True),
        ({}, 0.0, False),
        ({"always": True}, 1.0, True),
        ({"confidence_below": 0.8}, 0.8, False),
        ({"confidence_below": 0.8}, 0.79, True),
        ({"confidence_above": 0.5, "confidence_below": 0.8}, 0.5, False),
        ({"confidence_above": 0.5, "confidence_below": 0.8}, 0.51, True),
        ({"confidence_below": 0.8}, None, True),
    ],
)
def test_trigger_band(trigger: dict[str, object] | None, confidence: float | None, fires: bool) -> None:
    assert triggered(config(trigger=trigger), confidence) is fires


def test_outside_the_band_nobody_is_asked() -> None:
    outcome = verifier.gather(subject(), config(trigger={"confidence_below": 0.5}), no_stop())
    assert (outcome.state, outcome.score, outcome.prompt) == ("skipped", None, "")


def test_critic_gives_v_and_its_problems() -> None:
    reply = verdict(0.7, reasoning={"problems": ["No disk was named.", 5]})
    outcome = verifier.gather(subject(), config(executor_config=says(reply)), no_stop())
    assert (outcome.state, outcome.score, outcome.error) == ("done", 0.7, "")
    assert outcome.agent == "command:judge"
    assert outcome.raw_output == reply
    assert outcome.detail == {
        "mode": "critic",
        "warnings": [],
        "trace_cut": False,
        "reasoning": "Seen.",
        "problems": ["No disk was named."],
    }


def test_critic_sees_instructions_answer_and_trace() -> None:
    outcome = verifier.gather(subject(), config(), no_stop())
    for seen in ("Why does the service fail?", "The disk is full.", "[2] tool_result df: sda1 97%"):
        assert seen in outcome.prompt
    assert "Let me see." not in outcome.prompt


def test_the_trace_is_cut_for_the_critic() -> None:
    outcome = verifier.gather(subject(), config(max_trace_chars=4), no_stop())
    assert "[2] tool_result df: sda1…\n" in outcome.prompt
    assert outcome.detail["trace_cut"] is True


def test_independent_is_asked_what_the_primary_was_asked_and_nothing_else() -> None:
    outcome = verifier.gather(subject(), config(mode="independent", executor_config=echoes()), no_stop())
    assert outcome.prompt == "Why does the service fail?"
    sent = json.loads(outcome.detail["reasoning"])
    assert sent["prompt"] == "Why does the service fail?"
    assert sent["context"] == {"run_id": "r1", "pipeline": "p", "step": "s", "role": "verifier"}
    assert "The disk is full." not in outcome.detail["reasoning"]


def test_independent_in_a_loop_sees_neither_loop_nor_answer() -> None:
    given = subject(
        prompt="Again. Last time you said: The disk is full.",
        blind_prompt="Why does the service fail?",
        context={"loop": {"prior_output": "The disk is full."}, "output": ANSWER, "summary": "It fails."},
        call_context={"loop": {"iteration": 2}, "output": ANSWER, "step": "s"},
    )
    asks = echoes() | {"env": {"HINT": "{{ loop.prior_output }}{{ output.summary }}{{ summary }}"}}
    outcome = verifier.gather(given, config(mode="independent", executor_config=asks), no_stop())
    assert outcome.prompt == "Why does the service fail?"
    assert "disk" not in outcome.detail["reasoning"]
    assert outcome.score == 0.5


def test_templates_of_the_configuration_see_the_context() -> None:
    asks = {"agent": "{{ vars.name }}-judge", "command": says(verdict(0.7))["command"]}
    outcome = verifier.gather(subject(context={"vars": {"name": "disk"}}), config(executor_config=asks), no_stop())
    assert outcome.agent == "command:disk-judge"


def test_independent_shows_where_the_two_answers_differ() -> None:
    reply = verdict(0.8, disk="sdb1", percent=97, extra="x", reasoning={"disk": "no"})
    outcome = verifier.gather(subject(), config(mode="independent", executor_config=says(reply)), no_stop())
    assert outcome.score == 0.8
    assert outcome.detail["differs"] == [{"field": "disk", "primary": "sda1", "verifier": "sdb1"}]


def test_differences_ignore_the_contract_and_nested_fields() -> None:
    primary = {"confidence": 0.9, "summary": "a", "list": [1], "n": 1, "only": 1}
    assert differences(primary, {"confidence": 0.1, "summary": "b", "list": [2], "n": 1}) == []


def test_the_last_valid_verdict_counts() -> None:
    text = f"First thought: {verdict(0.2)} but then {verdict(0.6)} and {{'confidence': 0.99}}"
    outcome = verifier.gather(subject(), config(executor_config=says(text)), no_stop())
    assert outcome.score == 0.6


@pytest.mark.parametrize("value", ["NaN", "1e999", "true", '"0.9"', "95", "-0.1", "null"])
def test_no_verdict_is_no_signal_and_keeps_what_was_said(value: str) -> None:
    text = f'{{"confidence": {value}, "summary": "", "next_step_context": ""}}'
    outcome = verifier.gather(subject(), config(executor_config=says(text)), no_stop())
    assert (outcome.state, outcome.score) == ("failed", None)
    assert "no verdict" in outcome.error
    assert outcome.raw_output == text


@pytest.mark.parametrize("executor", ["nobody", "command"])
def test_an_agent_that_cannot_be_called_is_no_signal(executor: str) -> None:
    asks = config(executor_config={"command": ["./not/there"]}).model_copy(update={"executor": executor})
    outcome = verifier.gather(subject(), asks, no_stop())
    assert (outcome.state, outcome.score) == ("failed", None)
    assert outcome.error


def test_a_judge_that_dies_keeps_what_it_said() -> None:
    asks = {"command": ["sh", "-c", "echo half; exit 3"]}
    outcome = verifier.gather(subject(), config(executor_config=asks), no_stop())
    assert (outcome.state, outcome.raw_output) == ("failed", "half\n")


def test_a_judge_that_is_late_is_killed() -> None:
    asks = says(verdict(0.7), seconds=30) | {"timeout_seconds": 0.2}
    outcome = verifier.gather(subject(), config(executor_config=asks), no_stop())
    assert (outcome.state, outcome.score) == ("failed", None)
    assert "0.2 s" in outcome.error


def test_a_broken_template_is_no_signal() -> None:
    asks = {"command": ["echo", "{{ 1 / 0 }}"]}
    outcome = verifier.gather(subject(), config(executor_config=asks), no_stop())
    assert outcome.state == "failed"
    assert outcome.error.startswith("executor_config: command[1]")


@pytest.mark.parametrize("mode", ["critic", "independent"])
def test_nothing_to_judge_never_reaches_a_judge(mode: str) -> None:
    empty = {"confidence": 0.9, "summary": "...", "next_step_context": ""}
    outcome = verifier.gather(subject(answer=empty), config(mode=mode), no_stop())
    assert (outcome.state, outcome.score, outcome.error) == ("failed", None, NOTHING_TO_JUDGE)
    assert outcome.raw_output == outcome.prompt == ""


def test_a_stop_ends_the_call() -> None:
    stop = no_stop()
    stop.set()
    outcome = verifier.gather(subject(), config(executor_config=says(verdict(0.7), seconds=30)), stop)
    assert (outcome.state, outcome.error) == ("failed", "stopped")
