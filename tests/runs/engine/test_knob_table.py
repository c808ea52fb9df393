"""Every knob that decides how far an answer is trusted, one test for each: its default, and what it does.

Each goes the whole way: a file is loaded, a program answers, the gate decides.
"""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calibration import tallies
from calibration.models import Sample
from runs.models import PipelineVersion, Signal, Step
from runs.pipelines.schema import prompt_hash
from tests.fakes.gateway import FakeGateway, Script, running
from tests.pipelines import Pipelines, judge, step, steps_of
from vectorstep import config

pytestmark = pytest.mark.django_db(transaction=True)

PROVEN = {"enforce": True}
LONG = "0123456789" * 300  # 3 000 characters


def gated(pipelines: Pipelines, *, says: float = 0.95, **fields: Any) -> Step:
    """The step's row after a run of a pipeline of this one step."""
    pipelines.write("knobs", step(says=says, **fields))
    return steps_of(pipelines.run("knobs"))["look"]


def outcome(row: Step) -> tuple[float | None, str]:
    return row.combined_trust, row.status


def remember(row: Step, *, right: int, wrong: int, confidence: float | None = None) -> None:
    """Marked answers like that of ``row``, in its bucket and (unless told) at its confidence."""
    sample = Sample.objects.get(id=row.id)
    sample.label_source = "step_mark"
    if confidence is not None:
        sample.confidence, sample.confidence_ppm = confidence, round(confidence * 1_000_000)
    for label in [1.0] * right + [0.0] * wrong:
        sample.pk, sample.group, sample.label = uuid.uuid4(), uuid.uuid4(), label
        sample.save(force_insert=True)
    tallies.rebuild()


def check(name: str, run: str) -> dict[str, Any]:
    return {"type": "shell", "name": name, "run": run}


def read_file(content: str) -> list[dict[str, Any]]:
    return [
        {"type": "tool_call", "name": "read", "input": {"path": "a"}},
        {"type": "tool_result", "name": "read", "content": content},
    ]


def shown_of(content: str, row: Step, kind: str) -> int:
    """How many characters of the tool's result stand in the prompt of this judge."""
    prompt = Signal.objects.get(step=row, kind=kind).prompt
    return max(length for length in range(len(content) + 1) if content[:length] in prompt)


def test_confidence_threshold_is_the_bar_and_reaching_it_is_enough(pipelines: Pipelines) -> None:
    assert outcome(gated(pipelines, says=0.75)) == (0.75, "completed")
    assert outcome(gated(pipelines, says=0.74)) == (0.74, "escalated")
    assert outcome(gated(pipelines, says=0.74, confidence_threshold=0.74)) == (0.74, "completed")
    assert outcome(gated(pipelines, says=0.89, confidence_threshold=0.9)) == (0.89, "escalated")


@pytest.mark.parametrize(
    ("fields", "ends"),
    [({}, "escalated"), *(({"on_low_confidence": policy}, ends) for policy, ends in [
        ("escalate", "escalated"), ("abort", "aborted"), ("proceed", "completed"),
    ])],
)  # fmt: skip
def test_on_low_confidence_says_what_becomes_of_a_step_below_the_bar(
    pipelines: Pipelines, fields: dict[str, Any], ends: str
) -> None:
    pipelines.write("knobs", step(says=0.5, **fields), step("after"))
    run = pipelines.run("knobs")
    assert run.status == ends
    assert steps_of(run)["look"].status == ends
    assert ("after" in steps_of(run)) == (ends == "completed")


@pytest.mark.parametrize(
    ("fields", "sees_the_answer"), [({}, True), ({"mode": "critic"}, True), ({"mode": "independent"}, False)]
)
def test_verifier_mode_critic_reads_the_answer_and_independent_is_blind(
    pipelines: Pipelines, fields: dict[str, Any], sees_the_answer: bool
) -> None:
    says = {"confidence": 0.95, "summary": "The cable is loose."}
    row = gated(pipelines, agent={"says": says}, verifier={**judge(says=0.8), **fields})
    asked = Signal.objects.get(step=row, kind="verifier").prompt
    assert "Look into disk full." in asked
    assert ("The cable is loose." in asked) == sees_the_answer
    assert outcome(row) == (0.8, "completed")


@pytest.mark.parametrize(
    ("fields", "verdict", "trust"),
    [
        ({}, 0.85, 0.85),
        ({"combination_strategy": "minimum"}, 0.85, 0.85),
        ({"combination_strategy": "veto"}, 0.85, 0.95),
        ({"combination_strategy": "veto"}, 0.3, 0.3),
        ({"combination_strategy": "minimum"}, 1.0, 0.95),  # never above what the agent said
        ({"combination_strategy": "veto"}, 1.0, 0.95),
    ],
)
def test_verifier_combination_strategy_takes_the_lower_or_only_overrides_below_a_floor(
    pipelines: Pipelines, fields: dict[str, Any], verdict: float, trust: float
) -> None:
    assert gated(pipelines, verifier={**judge(says=verdict), **fields}).combined_trust == trust


@pytest.mark.parametrize(
    ("fields", "verdict", "trust"),
    [({}, 0.6, 0.95), ({}, 0.59, 0.59), ({"veto_floor": 0.9}, 0.89, 0.89), ({"veto_floor": 0.2}, 0.25, 0.95)],
)
def test_verifier_veto_floor_is_how_low_v_has_to_be(
    pipelines: Pipelines, fields: dict[str, Any], verdict: float, trust: float
) -> None:
    verifier = {**judge(says=verdict), "combination_strategy": "veto", **fields}
    assert gated(pipelines, verifier=verifier).combined_trust == trust
    unused = {**judge(says=verdict), "combination_strategy": "minimum", **fields}
    assert gated(pipelines, verifier=unused).combined_trust == verdict


@pytest.mark.parametrize(("fields", "shown"), [({}, 1500), ({"max_trace_chars": 2000}, 2000)])
def test_verifier_max_trace_chars_is_how_much_of_a_tool_result_a_critic_sees(
    pipelines: Pipelines, fields: dict[str, Any], shown: int
) -> None:
    agent = {"says": 0.95, "trace": read_file(LONG)}
    row = gated(pipelines, agent=agent, verifier={**judge(says=0.9), **fields})
    assert shown_of(LONG, row, "verifier") == shown
    blind = {**judge(says=0.9), **fields, "mode": "independent"}
    assert shown_of(LONG, gated(pipelines, agent=agent, verifier=blind), "verifier") == 0


@pytest.mark.parametrize(
    ("fields", "trust", "ends"),
    [({}, 0.95, "completed"), ({"enforce": False}, 0.95, "completed"), ({"enforce": True}, 0.5, "escalated")],
)
def test_grounding_enforce_turns_a_record_into_a_ceiling(
    pipelines: Pipelines, fields: dict[str, Any], trust: float, ends: str
) -> None:
    agent = {"says": 0.95, "trace": read_file("a")}
    row = gated(pipelines, agent=agent, grounding={**judge(says=0.5), **fields})
    assert (row.grounding_score, *outcome(row)) == (0.5, trust, ends)
    # A ceiling, not a value: good evidence lifts nothing.
    assert gated(pipelines, agent=agent, grounding={**judge(says=1.0), "enforce": True}).combined_trust == 0.95


@pytest.mark.parametrize(("fields", "shown"), [({}, 1500), ({"max_trace_chars": 2500}, 2500)])
def test_grounding_max_trace_chars_is_how_much_of_a_tool_result_the_judge_sees(
    pipelines: Pipelines, fields: dict[str, Any], shown: int
) -> None:
    agent = {"says": 0.95, "trace": read_file(LONG)}
    row = gated(pipelines, agent=agent, grounding={**judge(says=0.9), **fields})
    assert shown_of(LONG, row, "grounding") == shown


@pytest.mark.allow_hosts(["127.0.0.1", "::1", "localhost"])
@pytest.mark.parametrize(("fields", "asked"), [({}, None), ({"trace_max_chars": 9000}, 9000)])
def test_trace_max_chars_raises_the_cap_of_the_gateway_whose_own_default_holds_without_it(
    pipelines: Pipelines, settings: Any, service: Callable[..., None], fields: dict[str, Any], asked: int | None
) -> None:
    with running(FakeGateway({"triage": Script()}, token="sesame")) as gateway:
        update = {"url": gateway.url, "rest_url": gateway.rest_url, "token": "sesame"}
        service(executors={"gateway": settings.SERVICE.executors.gateway.model_copy(update=update)})
        calls_it = {"name": "look", "executor": "gateway", "executor_config": {"agent": "triage", **fields}}
        pipelines.write("knobs", {**calls_it, "prompt_template": "Look into {{ summary }}."})
        pipelines.run("knobs")
        [sent] = gateway.requests
    assert sent.get("traceToolResultMax") == asked


@pytest.mark.parametrize(
    ("fields", "trust", "ends"),
    [
        ({}, 0.95, "completed"),
        ({"deterministic_checks": []}, 0.95, "completed"),
        ({"deterministic_checks": [check("up", "exit 0")]}, 0.95, "completed"),
        ({"deterministic_checks": [check("up", "exit 0"), check("ticket", "exit 1")]}, 0.0, "escalated"),
    ],
)
def test_deterministic_checks_force_trust_to_zero_when_any_fails(
    pipelines: Pipelines, fields: dict[str, Any], trust: float, ends: str
) -> None:
    assert outcome(gated(pipelines, **fields)) == (trust, ends)


@pytest.mark.parametrize(
    ("fields", "trust"),
    [({}, 0.95), ({"calibration": {}}, 0.95), ({"calibration": {"enforce": False}}, 0.95),
     ({"calibration": {"enforce": True}}, 0.6)],
)  # fmt: skip
def test_calibration_enforce_replaces_the_number_by_what_was_measured(
    pipelines: Pipelines, fields: dict[str, Any], trust: float
) -> None:
    remember(gated(pipelines, **fields), right=12, wrong=8)  # 12 of 20 right
    assert gated(pipelines, **fields).combined_trust == trust


def test_calibration_enforce_may_also_raise_the_number(pipelines: Pipelines) -> None:
    remember(gated(pipelines, says=0.65, calibration=PROVEN), right=19, wrong=1)
    assert outcome(gated(pipelines, says=0.65, calibration=PROVEN)) == (0.95, "completed")


@pytest.mark.parametrize(
    ("fields", "trust", "ends"),
    [({}, 0.95, "completed"), ({"on_uncalibrated": "proceed"}, 0.95, "completed"),
     ({"on_uncalibrated": "escalate"}, 0.0, "escalated")],
)  # fmt: skip
def test_calibration_on_uncalibrated_says_what_a_bin_without_a_record_does(
    pipelines: Pipelines, fields: dict[str, Any], trust: float, ends: str
) -> None:
    calibration = {"enforce": True, **fields}
    assert outcome(gated(pipelines, calibration=calibration)) == (trust, ends)
    remember(gated(pipelines, calibration=calibration), right=20, wrong=0)
    assert outcome(gated(pipelines, calibration=calibration)) == (1.0, "completed")


def test_calibration_n_min_is_how_many_marked_answers_a_bin_needs(
    pipelines: Pipelines, service: Callable[..., None]
) -> None:
    assert config.Calibration().n_min == 20
    remember(gated(pipelines, calibration=PROVEN), right=10, wrong=9)
    assert gated(pipelines, calibration=PROVEN).combined_trust == 0.95  # 19 are one too few
    service(calibration={"n_min": 19})
    assert gated(pipelines, calibration=PROVEN).combined_trust == pytest.approx(10 / 19)


def test_calibration_bin_width_is_how_far_apart_two_answers_of_one_bin_may_be(
    pipelines: Pipelines, service: Callable[..., None]
) -> None:
    assert config.Calibration().bin_width == 0.1
    remember(gated(pipelines, says=0.9, calibration=PROVEN), right=10, wrong=10, confidence=0.85)
    assert gated(pipelines, says=0.9, calibration=PROVEN).combined_trust == 0.9  # 0.8 to 0.9 is another bin
    service(calibration={"bin_width": 0.25})
    assert gated(pipelines, says=0.9, calibration=PROVEN).combined_trust == 0.5  # both in 0.75 to 1


def test_prompt_hash_starts_a_new_bucket_and_going_back_finds_the_old_one(pipelines: Pipelines) -> None:
    first = gated(pipelines, calibration=PROVEN)
    assert first.prompt_hash == prompt_hash("Look into {{ summary }}.") != ""
    remember(first, right=12, wrong=8)
    edited = gated(pipelines, calibration=PROVEN, prompt_template="Look again into {{ summary }}.")
    assert edited.prompt_hash != first.prompt_hash
    assert edited.combined_trust == 0.95
    assert gated(pipelines, calibration=PROVEN).combined_trust == 0.6


def test_agent_version_starts_a_new_bucket_although_the_pipeline_is_the_same(
    pipelines: Pipelines, tmp_path: Path
) -> None:
    soul = tmp_path / "soul.md"
    soul.write_text("Be exact.")
    versioned = step(says=0.95, calibration=PROVEN)
    versioned["executor_config"]["version_files"] = [str(soul)]
    pipelines.write("knobs", versioned)

    def trusted() -> float | None:
        return steps_of(pipelines.run("knobs"))["look"].combined_trust

    remember(steps_of(pipelines.run("knobs"))["look"], right=12, wrong=8)
    assert trusted() == 0.6
    soul.write_text("Be quick.")
    assert trusted() == 0.95
    soul.write_text("Be exact.")
    assert trusted() == 0.6
    assert PipelineVersion.objects.count() == 1


def test_no_knob_at_all_is_the_self_report_against_the_bar(pipelines: Pipelines) -> None:
    row = gated(pipelines, says=0.75)
    assert {stage["stage"] for stage in row.trust_report["stages"] if stage["reason"] != "not_configured"} == {
        "self_report",
        "gate",
    }
    assert json.loads(json.dumps(row.trust_report["signals"])) == {
        "S": 0.75, "V": None, "S_after_V": 0.75, "G": None, "D": None,
    }  # fmt: skip
