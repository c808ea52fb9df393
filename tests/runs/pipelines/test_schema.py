"""Every field of a pipeline file: its default, and what it takes."""

from typing import Any

import pytest

from runs.pipelines import schema
from tests.runs.pipelines.loading import HOOK, SHELL, STEP, VERIFIER, load_with, load_with_step, messages


def read(path: str, value: Any) -> schema.Pipeline:
    loaded = load_with(path, value)
    assert messages(loaded) == []
    return schema.Pipeline.model_validate(loaded.config)


def at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value[int(part)] if part.isdigit() else getattr(value, part)
    return value


PIPELINE_DEFAULTS = {
    "description": "",
    "tags": [],
    "version": 1,
    "stage": "testing",
    "trigger.match": {},
    "trigger.dedup.enabled": None,
    "trigger.dedup.window_seconds": None,
    "context_template.include": [],
    "notifications": None,
    "schedule": None,
    "budget": None,
    "readiness": None,
    "durable": None,
}
STEP_DEFAULTS = {
    "prompt_template": None,
    "confidence_threshold": 0.75,
    "on_low_confidence": "escalate",
    "on_abort": "notify",
    "timeout_seconds": None,
    "when": None,
    "on_failure.policy": "abort",
    "on_failure.webhook": None,
    "verifier": None,
    "grounding": None,
    "deterministic_checks": [],
    "calibration": None,
    "retry": None,
    "loop_until": None,
    "readiness": None,
    "escalation": None,
    "threshold_bias": None,
    "prompt_hash": "",
}


@pytest.mark.parametrize(("path", "value"), PIPELINE_DEFAULTS.items())
def test_defaults_of_a_pipeline(path, value):
    assert at(read("name", "p"), path) == value


@pytest.mark.parametrize(("path", "value"), STEP_DEFAULTS.items())
def test_defaults_of_a_step(path, value):
    assert at(read("name", "p").steps[0], path) == value


@pytest.mark.parametrize(
    ("path", "given", "defaults"),
    [
        (
            "verifier",
            VERIFIER,
            {"mode": "critic", "combination_strategy": "minimum", "veto_floor": 0.6, "trigger": None},
        ),
        ("verifier", VERIFIER, {"max_trace_chars": 1500, "on_error": "ignore"}),
        (
            "verifier",
            {**VERIFIER, "trigger": {}},
            {"trigger.always": False, "trigger.confidence_below": 1.0, "trigger.confidence_above": 0.0},
        ),
        ("grounding", {}, {"agent": "grounding-judge", "executor": "gateway", "timeout_seconds": 120}),
        ("grounding", {}, {"enforce": False, "max_trace_chars": 1500, "on_error": "ignore", "executor_config": {}}),
        ("deterministic_checks", [SHELL], {"0.expect": "exit_code == 0", "0.timeout_seconds": 30}),
        ("deterministic_checks", [HOOK], {"0.expect": "response.status_code < 400", "0.timeout_seconds": 30}),
        ("deterministic_checks", [HOOK], {"0.method": "POST", "0.headers": {}, "0.payload": None}),
        ("calibration", {}, {"enforce": False, "on_uncalibrated": "proceed"}),
        ("retry", {}, {"attempts": 3, "backoff": "fixed", "delay_seconds": 1}),
        ("loop_until", {"confidence": 0.9}, {"confidence": 0.9, "max_iterations": 3}),
        ("on_failure", "continue", {"policy": "continue", "webhook": None}),
        ("on_failure", {"policy": "continue"}, {"policy": "continue"}),
    ],
)
def test_defaults_of_the_parts_of_a_step(path, given, defaults):
    part = at(read(f"{STEP}.{path}", given).steps[1], path)
    assert {name: at(part, name) for name in defaults} == defaults


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("description", "what it is for"),
        ("tags", ["a", "b"]),
        ("version", 7),
        ("stage", "production"),
        ("trigger", {"match": {"a": 1}, "dedup": {"enabled": False, "window_seconds": 0}}),
        ("context_template", {"include": ["data", "alerts"]}),
        ("vars", {"a": 1, "b": [None, {"c": True}]}),
        ("durable", {"on_interrupted": "escalate", "max_resume_age_seconds": 60}),
        (f"{STEP}.prompt_template", "Hello {{ summary }}"),
        (f"{STEP}.confidence_threshold", 0),
        (f"{STEP}.confidence_threshold", 1),
        (f"{STEP}.on_low_confidence", "proceed"),
        (f"{STEP}.on_low_confidence", "abort"),
        (f"{STEP}.on_abort", "notify"),
        (f"{STEP}.timeout_seconds", 0.5),
        (f"{STEP}.when", "steps.first.confidence > 0.5"),
        (f"{STEP}.verifier", {**VERIFIER, "mode": "independent", "combination_strategy": "veto", "veto_floor": 0.3}),
        (f"{STEP}.verifier", {**VERIFIER, "trigger": {"confidence_below": 0.9, "confidence_above": 0.5}}),
        (f"{STEP}.verifier", {**VERIFIER, "trigger": {"always": True}, "max_trace_chars": 9, "on_error": "escalate"}),
        (f"{STEP}.grounding", {"agent": "j", "executor": "command", "executor_config": {"command": ["j"]}}),
        (f"{STEP}.grounding", {"enforce": True, "timeout_seconds": 5, "max_trace_chars": 9, "on_error": "escalate"}),
        (f"{STEP}.deterministic_checks", [{**SHELL, "expect": "result | int > 3", "timeout_seconds": 1}, HOOK]),
        (
            f"{STEP}.deterministic_checks",
            [{**HOOK, "headers": {"X-A": "${TOKEN}"}, "payload": {"a": "{{ output.x }}"}}],
        ),
        (f"{STEP}.calibration", {"enforce": True, "on_uncalibrated": "escalate"}),
        (f"{STEP}.retry", {"attempts": 1, "backoff": "exponential", "delay_seconds": 0}),
        (f"{STEP}.executor_config", {"command": ["a", 1], "agent": "x", "version_files": ["a"], "timeout_seconds": 3}),
        (f"{STEP}.on_failure", "continue"),
    ],
)
def test_what_is_supported_loads(path, value):
    read(path, value)


@pytest.mark.parametrize(
    ("executor", "config"),
    [
        ("gateway", {"agent": "a"}),
        (
            "gateway",
            {"agent": "a", "session_key": "agent:a:{{ pipeline_run_id }}", "model": "m", "thinking_level": "low"},
        ),
        ("gateway", {"agent": "a", "timeout_seconds": 1200, "trace_max_chars": 9000}),
        ("webhook", {"url": "https://x/{{ summary }}"}),
        ("webhook", {"url": "${HOOK}", "method": "put", "content_type": "text/plain", "headers": {"A": "b"}}),
        ("command", {"command": ["x"], "env": {"A": "b"}, "pass_env": ["HOME"], "cwd": "examples"}),
    ],
)
def test_executor_configs_that_load(executor, config):
    step = {"name": "second", "executor": executor, "executor_config": config}
    assert messages(load_with_step(step)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("reviewer", "critic"), ("challenger", "independent"), ("critic", "critic"), ("independent", "independent")],
)
def test_old_names_of_the_verifier_modes_are_normalised(old, new):
    loaded = load_with(f"{STEP}.verifier", {**VERIFIER, "mode": old})
    assert loaded.config is not None
    assert loaded.config["steps"][1]["verifier"]["mode"] == new


def test_durable_true_of_old_files_means_rerun():
    durable = read("durable", True).durable
    assert durable is not None
    assert durable.on_interrupted == "rerun"


def test_a_config_from_the_database_is_read_back_as_it_was():
    loaded = load_with(f"{STEP}.verifier", {**VERIFIER, "trigger": {"always": True}})
    pipeline = schema.Pipeline.model_validate(loaded.config)
    assert pipeline.model_dump(mode="json", by_alias=True) == loaded.config


def test_readiness_keeps_a_tier_that_was_removed_apart_from_one_left_out():
    tiers = schema.Readiness.model_validate({"accuracy": None})
    assert tiers.model_dump() == {"accuracy": None}
    assert schema.Readiness.model_validate(tiers.model_dump()).model_fields_set == {"accuracy"}
