import pytest

from runs.pipelines.schema import Grounding
from runs.signals import grounding
from runs.signals.grounding import NO_CLAIMS, NO_TOOLS, count
from runs.signals.judge import NOTHING_TO_JUDGE
from runs.signals.trace import NO_EVENTS
from tests.runs.signals.given import echoes, no_stop, says, subject, verdict


def claim(supported: object, text: str = "The disk is full.") -> dict[str, object]:
    return {"claim": text, "supported": supported, "evidence": "df: 97%"}


def config(reply: str = verdict(0.7), **fields: object) -> Grounding:
    return Grounding.model_validate({"executor": "command", "executor_config": says(reply)} | fields)


def test_g_is_counted_from_the_claims() -> None:
    reply = verdict(0.67, reasoning={"claims": [claim(True), claim(False), claim(True)]})
    outcome = grounding.gather(subject(), config(reply), no_stop())
    assert (outcome.state, outcome.score) == ("done", 2 / 3)
    assert (outcome.detail["supported"], outcome.detail["total"]) == (2, 3)
    assert outcome.detail["claims"][1] == {"claim": "The disk is full.", "supported": False, "evidence": "df: 97%"}
    assert outcome.detail["warnings"] == []  # 0.67 is 2/3, rounded


def test_a_different_confidence_is_a_warning_and_the_count_stands() -> None:
    reply = verdict(0.95, reasoning={"claims": [claim(True), claim(False)]})
    outcome = grounding.gather(subject(), config(reply), no_stop())
    assert outcome.score == 0.5
    assert outcome.detail["warnings"] == [
        "the judge said 0.95, but 1 of 2 claims are supported (0.50): the count is used"
    ]


def test_without_a_list_the_judges_figure_stands() -> None:
    outcome = grounding.gather(subject(), config(verdict(0.4)), no_stop())
    assert (outcome.score, outcome.detail["total"]) == (0.4, None)


def test_a_list_that_is_none_is_a_warning() -> None:
    outcome = grounding.gather(subject(), config(verdict(0.4, reasoning={"claims": {"a": 1}})), no_stop())
    assert outcome.score == 0.4
    assert "not a list" in outcome.detail["warnings"][0]


def test_an_empty_list_is_no_score_whatever_the_judge_said() -> None:
    outcome = grounding.gather(subject(), config(verdict(1.0, reasoning={"claims": []})), no_stop())
    assert (outcome.state, outcome.score, outcome.error) == ("done", None, NO_CLAIMS)
    assert outcome.detail["total"] == 0


def test_only_a_plain_true_supports() -> None:
    counted = count([claim(True), claim("true"), claim(1), claim(None), "The disk is full.", {}])
    assert (counted.supported, counted.total, counted.score) == (1, 6, 1 / 6)
    assert len(counted.warnings) == 5
    assert counted.claims[4] == {"claim": "The disk is full.", "supported": False, "evidence": ""}
    assert counted.claims[5]["claim"] == "(not stated)"


def test_a_long_list_counts_whole_and_is_kept_in_part() -> None:
    counted = count([claim(True, "x" * 5000)] * 150 + [claim(False)] * 150)
    assert counted.score == 0.5
    assert len(counted.claims) == 200
    assert len(counted.claims[0]["claim"]) == 2001


def test_an_executor_that_cannot_report_tools_is_no_signal() -> None:
    outcome = grounding.gather(subject(trace=None), config(), no_stop())
    assert (outcome.state, outcome.score, outcome.error, outcome.prompt) == ("skipped", None, NO_TOOLS, "")


def test_an_agent_that_used_no_tool_is_judged_on_no_evidence() -> None:
    reply = verdict(0, reasoning={"claims": [claim(False)]})
    outcome = grounding.gather(subject(trace=[]), config(reply), no_stop())
    assert (outcome.state, outcome.score) == ("done", 0.0)
    assert NO_EVENTS in outcome.prompt


def test_a_cut_trace_is_noted() -> None:
    assert grounding.gather(subject(), config(max_trace_chars=4), no_stop()).detail["trace_cut"] is True
    assert grounding.gather(subject(), config(), no_stop()).detail["trace_cut"] is False


def test_the_judge_sees_the_task_the_answer_and_the_trace() -> None:
    prompt = grounding.gather(subject(), config(), no_stop()).prompt
    for seen in ("Why does the service fail?", "The disk is full.", "[2] tool_result df: sda1 97%"):
        assert seen in prompt


def test_the_agent_may_be_named_by_the_grounding_itself() -> None:
    asks = {"command": says(verdict(0.4))["command"]}
    named = Grounding.model_validate({"executor": "command", "agent": "fact-checker", "executor_config": asks})
    assert grounding.gather(subject(), named, no_stop()).agent == "command:fact-checker"


def test_an_agent_named_in_the_executors_configuration_goes_before() -> None:
    asks = {"command": says(verdict(0.4))["command"], "agent": "second-reader"}
    named = Grounding.model_validate({"executor": "command", "agent": "fact-checker", "executor_config": asks})
    assert grounding.gather(subject(), named, no_stop()).agent == "command:second-reader"


def test_a_judges_call_has_a_key_of_its_own() -> None:
    """A backend that remembers keys must not serve the primary's answer, or the verifier's, as the verdict."""
    assert "s-0:grounding" in grounding.gather(subject(), config(executor_config=echoes()), no_stop()).raw_output


def test_nothing_to_judge_never_reaches_a_judge() -> None:
    empty = {"confidence": 1.0, "summary": "!!!", "next_step_context": ""}
    outcome = grounding.gather(subject(answer=empty), config(), no_stop())
    assert (outcome.state, outcome.error, outcome.prompt) == ("failed", NOTHING_TO_JUDGE, "")


@pytest.mark.parametrize(
    "reply", ["", "I think it is fine.", "{}", '{"confidence": 2, "summary": "", "next_step_context": ""}']
)
def test_no_verdict_is_no_signal(reply: str) -> None:
    outcome = grounding.gather(subject(), config(reply), no_stop())
    assert (outcome.state, outcome.score, outcome.raw_output) == ("failed", None, reply)
    assert outcome.error


@pytest.mark.parametrize(("of_the_step", "of_the_judge"), [(0.2, 60), (60, 0.2)])
def test_the_shorter_of_its_two_timeouts_holds(of_the_step: float, of_the_judge: float) -> None:
    judge = says(verdict(1), seconds=30) | {"timeout_seconds": of_the_judge}
    slow = config(timeout_seconds=of_the_step, executor_config=judge)
    outcome = grounding.gather(subject(), slow, no_stop())
    assert outcome.state == "failed"
    assert "0.2 s" in outcome.error
