"""Every field of the language, listed by hand with a value it takes: none is refused, none is silently dropped.

A field that cannot be used yet is an expected failure with the reason. The day it can, that failure is unexpected.
"""

import json
from typing import Any

import pytest

from runs.pipelines import loader
from runs.pipelines.library import Library
from tests.runs.pipelines.loading import BASE, STEP, load, load_with, load_with_step, messages

CHECK = {"type": "shell", "name": "c", "run": "true"}
HOOK = {"type": "webhook", "name": "h", "url": "https://x"}
ASK = {"type": "human", "name": "a", "message": "Is {{ output.summary }} right?"}
COMMAND = {"name": "second", "executor": "command", "executor_config": {"command": ["ls"]}}
GATEWAY = {"executor": "gateway", "executor_config": {"agent": "judge"}}
NOTE = {"channel": "log", "template": "{{ summary }}", "config": {}}
FAILED = {"url": "https://x", "method": "POST", "headers": {"A": "b"}, "payload": {"a": 1}, "timeout_seconds": 30}
OPERATORS = {
    "a": "plain", "b": {"eq": 1}, "c": {"ne": 1}, "d": {"in": [1]}, "e": {"not_in": [1]}, "f": {"regex": "x+"},
    "g": {"gt": 1}, "h": {"gte": 1}, "i": {"lt": 1}, "j": {"lte": 1},
}  # fmt: skip
TIERS = {
    "operational": {
        "min_runs": 3, "acceptable_statuses": ["completed", "stopped"], "max_age_days": 9,
        "require_current_config": True,
    },
    "confidence": {"min_confidence": 0.8, "min_runs": 3, "require_current_config": True},
    "accuracy": {"min_accuracy": 0.8, "min_marked": 3, "min_human_marked": 1, "require_current_config": False},
    "calibration": {
        "n_min": 10, "bin_width": 0.25, "max_divergence": 0.1, "require_own_evidence": True,
        "require_current_config": True,
    },
}  # fmt: skip
NOT_YET = {
    "readiness": "readiness is not shown yet",
    "a2a": "the executor does not exist yet",
    "agent": "the executor does not exist yet",
}


def later(*values: Any, because: str) -> Any:
    return pytest.param(*values, marks=pytest.mark.xfail(strict=True, reason=NOT_YET[because]))


def accepted(loaded: loader.Loaded) -> dict[str, Any]:
    assert messages(loaded) == []
    assert loaded.config is not None
    return loaded.config


def holds(stored: Any, given: Any) -> bool:
    """Whether everything that was given came through, whatever defaults were added."""
    if isinstance(given, dict):
        return isinstance(stored, dict) and all(key in stored and holds(stored[key], given[key]) for key in given)
    if isinstance(given, list):
        return isinstance(stored, list) and all(map(holds, stored, given)) and len(stored) == len(given)
    return bool(stored == given)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "another"),
        ("description", "what it is for"),
        ("tags", ["a", "b"]),
        ("version", 1),
        ("stage", "testing"),
        ("stage", "production"),
        ("trigger", {"match": OPERATORS, "dedup": {"enabled": False, "window_seconds": 60}}),
        ("context_template", {"include": ["data"]}),
        ("vars", {"a": 1, "b": ["c"]}),
        *[("notifications", {on: NOTE}) for on in ("escalate", "abort", "stop")],
        ("notifications", {"notify": NOTE}),
        ("notifications", {"stop": [NOTE, NOTE]}),
        (
            "schedule",
            {"cron": "0 6 * * *", "summary": "s", "severity": "info", "labels": {"a": "b"}, "team": "t",
             "timezone": "Europe/Berlin"},
        ),
        ("budget", {"max_tokens": 1000}),
        ("budget", {"max_usd": 0.5}),
        ("budget", {"max_tokens": 1000, "max_usd": 0.5}),
        later("readiness", TIERS, because="readiness"),
        ("durable", {"on_interrupted": "rerun", "max_resume_age_seconds": 60}),
        ("durable", {"on_interrupted": "escalate"}),
    ],
)  # fmt: skip
def test_top_level(field: str, value: Any) -> None:
    config = accepted(load_with(field, value))
    if field in ("trigger", "notifications"):  # stored in a form of their own
        assert config[field]
    else:
        assert holds(config[field], value)


OF_A_STEP = [
    ("prompt_template", "Look into {{ summary }}."),
    ("confidence_threshold", 0.6),
    *[("on_low_confidence", policy) for policy in ("escalate", "abort", "proceed")],
    ("on_abort", "notify"),
    ("on_abort", "silent"),
    ("timeout_seconds", 60),
    ("when", "severity == 'critical'"),
    ("on_failure", {"policy": "abort"}),
    ("on_failure", {"policy": "continue"}),
    ("on_failure", {"policy": "abort", "webhook": FAILED}),
    *[
        ("verifier", {**GATEWAY, **fields})
        for fields in [
            {"mode": "critic", "max_trace_chars": 9},
            {"mode": "independent"},
            {"combination_strategy": "minimum"},
            {"combination_strategy": "veto", "veto_floor": 0.5},
            {"trigger": {"always": True}},
            {"trigger": {"always": False, "confidence_below": 0.9, "confidence_above": 0.5}},
            {"on_error": "ignore"},
            {"on_error": "escalate"},
        ]
    ],
    later("verifier", {"executor": "a2a", "executor_config": {}}, because="a2a"),
    later("verifier", {"executor": "agent", "executor_config": {}}, because="agent"),
    (
        "grounding",
        {"agent": "j", "executor": "gateway", "executor_config": {"agent": "j"}, "timeout_seconds": 60, "enforce": True,
         "max_trace_chars": 9, "on_error": "escalate"},
    ),
    later("grounding", {"executor": "a2a"}, because="a2a"),
    later("grounding", {"executor": "agent"}, because="agent"),
    ("deterministic_checks", [{**CHECK, "expect": "result == 'a' and stderr == ''", "timeout_seconds": 3}]),
    (
        "deterministic_checks",
        [{**HOOK, "method": "GET", "headers": {"A": "${TOKEN}"}, "payload": {"x": "{{ output.x }}"},
          "expect": "response.body.up", "timeout_seconds": 3}],
    ),
    ("deterministic_checks", [{**ASK, "timeout_seconds": 3}]),
    ("calibration", {"enforce": True, "on_uncalibrated": "proceed"}),
    ("calibration", {"enforce": False, "on_uncalibrated": "escalate"}),
    ("retry", {"attempts": 2, "backoff": "fixed", "delay_seconds": 2}),
    ("retry", {"attempts": 2, "backoff": "exponential", "delay_seconds": 2}),
    ("loop_until", {"confidence": 0.9, "max_iterations": 2}),
    later("readiness", TIERS, because="readiness"),
    later("readiness", {"accuracy": None}, because="readiness"),
    ("escalation", {"to": "on-call", "after_seconds": 60, "on_timeout": "abort"}),
    ("escalation", {"to": "on-call", "after_seconds": 60, "on_timeout": "keep"}),
    (
        "threshold_bias",
        {"enforce": True, "window": 10, "min": 5, "band": 0.1, "allow_lower": True}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), OF_A_STEP)
def test_step(field: str, value: Any) -> None:
    config = accepted(load_with(f"{STEP}.{field}", value))
    assert holds(config["steps"][1][field], value)


@pytest.mark.parametrize(("field", "value"), OF_A_STEP)
def test_fan_out_takes_every_field_of_a_step(field: str, value: Any) -> None:
    group = {**COMMAND, "over": "[1]", field: value}
    config = accepted(load_with_step({"fan_out": group}))
    assert holds(config["steps"][1]["fan_out"][field], value)


@pytest.mark.parametrize(("field", "value"), [*OF_A_STEP, ("weight", 2.5)])
def test_branch_of_a_parallel_takes_every_field_of_a_step_and_a_weight(field: str, value: Any) -> None:
    group = {"name": "second", "steps": [{**COMMAND, "name": "one", field: value}]}
    config = accepted(load_with_step({"parallel": group}))
    assert holds(config["steps"][1]["parallel"]["steps"][0][field], value)


JOINS = [("join", how) for how in ("all_must_pass", "any_must_pass", "weighted_average")]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *JOINS,
        ("confidence_threshold", 0.6),
        ("on_low_confidence", "proceed"),
        ("on_abort", "notify"),
        ("on_abort", "silent"),
        ("timeout_seconds", 60),
        ("when", "severity == 'critical'"),
        later("readiness", TIERS, because="readiness"),
    ],
)
def test_parallel(field: str, value: Any) -> None:
    group = {"name": "second", "steps": [{**COMMAND, "name": "one"}], field: value}
    config = accepted(load_with_step({"parallel": group}))
    assert holds(config["steps"][1]["parallel"][field], value)


@pytest.mark.parametrize(
    ("field", "value"),
    [*JOINS, ("as", "service"), ("max_items", 50), *[("on_empty", how) for how in ("complete", "skip", "abort")]],
)
def test_fan_out(field: str, value: Any) -> None:
    config = accepted(load_with_step({"fan_out": {**COMMAND, "over": "[1, 2]", field: value}}))
    assert holds(config["steps"][1]["fan_out"][field], value)


@pytest.mark.parametrize(
    ("executor", "config"),
    [
        ("command", {"command": ["ls"], "agent": "a", "model": "m", "env": {"A": "b"}, "pass_env": ["HOME"]}),
        ("command", {"command": ["ls"], "cwd": "examples", "version_files": ["soul.md"], "timeout_seconds": 5}),
        ("gateway", {"agent": "a", "session_key": "agent:a:{{ pipeline_run_id }}", "model": "m"}),
        ("gateway", {"agent": "a", "thinking_level": "low", "timeout_seconds": 60, "trace_max_chars": 9000}),
        ("webhook", {"url": "https://x", "method": "PUT", "content_type": "text/plain", "headers": {"A": "b"}}),
        ("webhook", {"url": "https://x", "timeout_seconds": 5}),
        ("pipeline", {"pipeline": "inner", "context": {"a": "{{ summary }}"}}),
        ("human", {"message": "Restart {{ summary }}?", "to": "on-call"}),
        (
            "notify",
            {"url": "https://x", "method": "PUT", "headers": {"A": "b"}, "payload": {"a": 1}, "timeout_seconds": 5},
        ),
        later("a2a", {}, because="a2a"),
        later("agent", {}, because="agent"),
    ],
)
def test_executor_configs(executor: str, config: dict[str, Any]) -> None:
    stored = accepted(load_with_step({"name": "second", "executor": executor, "executor_config": config}))
    assert holds(stored["steps"][1]["executor_config"], config)


@pytest.mark.parametrize(
    "name",
    [
        "data", "vars.limit", "labels.team", "metadata.x", "summary", "severity", "pipeline_run_id", "pipeline_name",
        "current_step", "steps.first.summary", "steps['first'].confidence",
        "artifacts.first.report",
    ],
)  # fmt: skip
def test_names_a_prompt_may_use(name: str) -> None:
    data = {**BASE, "context_template": {"include": ["data"]}}
    data["steps"] = [BASE["steps"][0], {**COMMAND, "prompt_template": f"Look into {{{{ {name} }}}}."}]
    accepted(load(json.dumps(data)))


@pytest.mark.parametrize("name", ["loop.iteration", "loop.prior_confidence", "loop.prior_output"])
def test_names_a_prompt_in_a_loop_may_use(name: str) -> None:
    again = {"loop_until": {"confidence": 0.9}, "prompt_template": f"Again: {{{{ {name} }}}}."}
    accepted(load_with_step({**COMMAND, **again}))


@pytest.mark.parametrize("name", ["item", "fan_out_index", "fan_out_total"])
def test_names_a_branch_of_a_fan_out_may_use(name: str) -> None:
    accepted(load_with_step({"fan_out": {**COMMAND, "over": "[1]", "prompt_template": f"{{{{ {name} }}}}"}}))


def test_library(tmp_path: Any) -> None:
    (tmp_path / "look.yaml").write_text(
        "description: looks\ntags: [a]\nexecutor: gateway\nexecutor_config: {agent: a, model: m}\ntimeout_seconds: 5\n"
    )
    text = "name: p\nsteps:\n  - {use: look, name: mine, executor_config: {model: n}, timeout_seconds: 9}\n"
    [step] = accepted(load(text, Library(tmp_path)))["steps"]
    assert (step["name"], step["timeout_seconds"]) == ("mine", 9)
    assert holds(step["executor_config"], {"agent": "a", "model": "n"})
