"""Every field of a pipeline file: its default, what it takes, what it refuses, and what is not supported yet."""

import hashlib
from typing import Any

import pytest

from runs.pipelines import schema
from runs.pipelines.loader import digest_of
from tests.runs.pipelines.loading import BASE, load, load_with, messages

STEP = "steps.1"
GATEWAY = {"agent": "judge"}
VERIFIER = {"executor": "gateway", "executor_config": GATEWAY}
SHELL = {"type": "shell", "name": "c", "run": "true"}
HOOK = {"type": "webhook", "name": "h", "url": "http://x"}


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


def load_with_step(step: dict[str, Any]) -> Any:
    return load_with("steps", [*BASE["steps"][:1], step])


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


READINESS = {"operational": {"min_runs": 3}}
ALL_TIERS = {
    "operational": {"min_runs": 3, "acceptable_statuses": ["completed", "stopped"], "max_age_days": 9},
    "confidence": {"min_confidence": 0.8, "min_runs": 3},
    "accuracy": {"min_accuracy": 0.8, "min_marked": 3, "min_human_marked": 1},
    "calibration": {"n_min": 10, "bin_width": 0.25, "max_divergence": 0.1, "require_own_evidence": True},
}
NOTE = {"channel": "slack", "template": "x", "config": {"url": "http://x"}}
STEP_BODY = BASE["steps"][0]


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        ("notifications", {"escalate": NOTE}, "notifications"),
        ("notifications", {"abort": [NOTE, NOTE], "stop": NOTE, "notify": NOTE}, "notifications"),
        ("schedule", {"cron": "*/5 0-6 * * 1,2"}, "schedule"),
        (
            "schedule",
            {
                "cron": "0 0 1 1 7",
                "timezone": "Europe/London",
                "summary": "s",
                "severity": "x",
                "labels": {"a": "b"},
                "team": "t",
            },
            "schedule",
        ),
        ("budget", {"max_tokens": 1000}, "budget"),
        ("budget", {"max_usd": 0.5}, "budget"),
        ("readiness", ALL_TIERS, "readiness"),
        (f"{STEP}.readiness", {**READINESS, "accuracy": None}, "readiness"),
        (f"{STEP}.escalation", {"to": "lead", "after_seconds": 60, "on_timeout": "abort"}, "escalation"),
        (
            f"{STEP}.threshold_bias",
            {"enforce": True, "window": 5, "min": 2, "band": 0.2, "allow_lower": True},
            "threshold_bias",
        ),
        (f"{STEP}.on_abort", "silent", "on_abort: silent"),
        (
            f"{STEP}.on_failure",
            {
                "policy": "abort",
                "webhook": {"url": "http://x", "method": "POST", "headers": {}, "payload": {}, "timeout_seconds": 3},
            },
            "on_failure.webhook",
        ),
        (f"{STEP}.verifier", {"executor": "a2a"}, "verifier.executor: a2a"),
        (f"{STEP}.grounding", {"executor": "agent"}, "grounding.executor: agent"),
        (f"{STEP}.deterministic_checks", [{"type": "human", "name": "h", "message": "ok?"}], "a human check"),
        ("steps", [{"parallel": {"name": "g", "steps": [{**STEP_BODY, "weight": 2.0}]}}], "parallel"),
        (
            "steps",
            [
                {
                    "parallel": {
                        "name": "g",
                        "join": "weighted_average",
                        "confidence_threshold": 0.5,
                        "on_low_confidence": "abort",
                        "on_abort": "notify",
                        "timeout_seconds": 60,
                        "when": "true",
                        "readiness": READINESS,
                        "steps": [STEP_BODY],
                    }
                }
            ],
            "parallel",
        ),
        ("steps", [{"fan_out": {**STEP_BODY, "over": "{{ vars.limit }}"}}], "fan_out"),
        (
            "steps",
            [
                {
                    "fan_out": {
                        **STEP_BODY,
                        "over": "[1]",
                        "as": "host",
                        "join": "any_must_pass",
                        "max_items": 3,
                        "on_empty": "skip",
                        "verifier": VERIFIER,
                        "grounding": {},
                        "deterministic_checks": [SHELL],
                        "calibration": {},
                        "retry": {},
                        "readiness": READINESS,
                    }
                }
            ],
            "fan_out",
        ),
        *[
            ("steps", [{"name": "s", "executor": kind, "executor_config": config}], f"executor: {kind}")
            for kind, config in [
                ("pipeline", {"pipeline": "x", "context": {"a": 1}}),
                ("notify", {"url": "http://x", "method": "POST", "headers": {}, "payload": {}, "timeout_seconds": 3}),
                ("human", {}),
                ("a2a", {}),
                ("agent", {}),
            ]
        ],
    ],
)
def test_what_is_not_supported_yet_is_refused_by_name_and_only_for_that(path, value, what):
    loaded = load_with(path, value)
    assert [problem.message for problem in loaded.problems] == [f"not supported yet: {what}"]
    assert loaded.problems[0].line > 1
    assert loaded.config is None


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        # Unknown fields, with the closest known name.
        ("descripton", "x", "descripton", "unknown field; did you mean 'description'?"),
        ("trigger.dedupe", {}, "trigger.dedupe", "unknown field; did you mean 'dedup'?"),
        (f"{STEP}.confidence_treshold", 1, "steps[1].confidence_treshold", "did you mean 'confidence_threshold'?"),
        (f"{STEP}.weight", 1, "steps[1].weight", "unknown field"),
        (f"{STEP}.verifier", {**VERIFIER, "vetofloor": 1}, "steps[1].verifier.vetofloor", "did you mean 'veto_floor'?"),
        (f"{STEP}.grounding", {"enforced": True}, "steps[1].grounding.enforced", "did you mean 'enforce'?"),
        (
            f"{STEP}.deterministic_checks",
            [{**SHELL, "expected": "x"}],
            "steps[1].deterministic_checks[0].expected",
            "did you mean 'expect'?",
        ),
        (
            f"{STEP}.deterministic_checks",
            [{**SHELL, "url": "x"}],
            "steps[1].deterministic_checks[0].url",
            "unknown field",
        ),
        (f"{STEP}.on_failure", {"polcy": "abort"}, "steps[1].on_failure.polcy", "did you mean 'policy'?"),
        ("notifications", {"escalated": NOTE}, "notifications.escalated", "did you mean 'escalate'?"),
        ("readiness", {"operational": {"min_run": 3}}, "readiness.operational.min_run", "did you mean 'min_runs'?"),
        (
            "steps",
            [{"parallel": {"name": "g", "steps": [], "jion": 1}}],
            "steps[0].parallel.jion",
            "did you mean 'join'?",
        ),
        ("steps", [{"fan_out": {**STEP_BODY, "over": "x", "ass": 1}}], "steps[0].fan_out.ass", "did you mean 'as'?"),
        (
            f"{STEP}.executor_config",
            {"command": ["x"], "enviroment": {}},
            "steps[1].executor_config.enviroment",
            "unknown field",
        ),
        (f"{STEP}.executor_config", {"comand": ["x"]}, "steps[1].executor_config.comand", "did you mean 'command'?"),
        # Wrong types, never converted.
        ("name", 3, "name", "expected a text, found a number (3)"),
        ("name", None, "name", "expected a text, found nothing"),
        ("tags", "a", "tags", "expected a list, found text ('a')"),
        ("tags", [1], "tags[0]", "expected a text, found a number (1)"),
        ("version", "1", "version", "expected a whole number"),
        ("version", 1.5, "version", "whole number"),
        ("version", True, "version", "expected a whole number, found true or false (true)"),
        ("stage", "live", "stage", "must be one of testing, production, found text ('live')"),
        ("stage", "prodution", "stage", "did you mean 'production'?"),
        ("vars", [], "vars", "expected an object (key: value), found a list"),
        ("steps", {}, "steps", "expected a list, found an object"),
        ("steps", [], "steps", "at least 1"),
        ("steps", ["x"], "steps[0]", "expected an object"),
        (
            f"{STEP}.confidence_threshold",
            "0.8",
            "steps[1].confidence_threshold",
            "expected a number, found text ('0.8')",
        ),
        (
            f"{STEP}.confidence_threshold",
            True,
            "steps[1].confidence_threshold",
            "expected a number, found true or false (true)",
        ),
        (f"{STEP}.confidence_threshold", 1.01, "steps[1].confidence_threshold", "less than or equal to 1"),
        (f"{STEP}.confidence_threshold", 95, "steps[1].confidence_threshold", "less than or equal to 1"),
        (f"{STEP}.confidence_threshold", -0.1, "steps[1].confidence_threshold", "greater than or equal to 0"),
        (f"{STEP}.confidence_threshold", None, "steps[1].confidence_threshold", "expected a number, found nothing"),
        (f"{STEP}.timeout_seconds", 0, "steps[1].timeout_seconds", "greater than 0"),
        (
            f"{STEP}.calibration",
            {"enforce": "true"},
            "steps[1].calibration.enforce",
            "expected true or false, found text ('true')",
        ),
        (
            f"{STEP}.calibration",
            {"enforce": 1},
            "steps[1].calibration.enforce",
            "expected true or false, found a number (1)",
        ),
        (f"{STEP}.calibration", True, "steps[1].calibration", "expected an object"),
        (f"{STEP}.retry", {"attempts": 0}, "steps[1].retry.attempts", "greater than or equal to 1"),
        (f"{STEP}.retry", {"backoff": "linear"}, "steps[1].retry.backoff", "must be one of fixed, exponential"),
        (f"{STEP}.loop_until", {}, "steps[1].loop_until.confidence", "is required"),
        (f"{STEP}.on_failure", "retry", "steps[1].on_failure", "must be one of abort, continue"),
        (f"{STEP}.on_low_confidence", "stop", "steps[1].on_low_confidence", "must be one of escalate, abort, proceed"),
        (f"{STEP}.executor", "comand", "steps[1].executor", "did you mean 'command'?"),
        (f"{STEP}.executor_config", [], "steps[1].executor_config", "expected an object"),
        (f"{STEP}.verifier", {}, "steps[1].verifier.executor", "is required"),
        (f"{STEP}.verifier", {"executor": "webhook"}, "steps[1].verifier.executor", "must be one of command, gateway"),
        (f"{STEP}.verifier", {**VERIFIER, "mode": "critc"}, "steps[1].verifier.mode", "did you mean 'critic'?"),
        (f"{STEP}.verifier", {**VERIFIER, "mode": 3}, "steps[1].verifier.mode", "must be one of"),
        (
            f"{STEP}.verifier",
            {**VERIFIER, "trigger": {"confidence_above": 1.0}},
            "steps[1].verifier.trigger",
            "can never fire",
        ),
        (f"{STEP}.deterministic_checks", [{"name": "x"}], "steps[1].deterministic_checks[0].type", "is required"),
        (
            f"{STEP}.deterministic_checks",
            [{**SHELL, "type": "shel"}],
            "steps[1].deterministic_checks[0].type",
            "did you mean 'shell'?",
        ),
        (
            f"{STEP}.deterministic_checks",
            [{"type": "shell", "name": "x"}],
            "steps[1].deterministic_checks[0].run",
            "is required",
        ),
        (
            f"{STEP}.deterministic_checks",
            [SHELL, SHELL],
            "steps[1].deterministic_checks[1].name",
            "'c' is used by an earlier check",
        ),
        (
            f"{STEP}.deterministic_checks",
            [{**HOOK, "url": "ftp://x"}],
            "steps[1].deterministic_checks[0].url",
            "http://",
        ),
        (
            f"{STEP}.deterministic_checks",
            [{**HOOK, "headers": {"A B": "x"}}],
            "steps[1].deterministic_checks[0].headers.A B",
            "header name",
        ),
        (
            f"{STEP}.deterministic_checks",
            [{**HOOK, "headers": {"A": 1}}],
            "steps[1].deterministic_checks[0].headers.A",
            "a text",
        ),
        ("durable", False, "durable", "every run survives a crash"),
        ("durable", "yes", "durable", "expected an object"),
        ("budget", {}, "budget", "needs max_tokens or max_usd"),
        ("schedule", {"cron": "* * * *"}, "schedule.cron", "needs 5 fields"),
        ("schedule", {"cron": "61 * * * *"}, "schedule.cron", "61 is not from 0 to 59"),
        ("schedule", {"cron": "5-1 * * * *"}, "schedule.cron", "ends before it begins"),
        ("schedule", {"cron": "*/0 * * * *"}, "schedule.cron", "never moves"),
        ("schedule", {"cron": "a * * * *"}, "schedule.cron", "is not a number"),
        ("schedule", {"cron": "* * * * *", "timezone": "Mars/Base"}, "schedule.timezone", "is no time zone"),
        ("readiness", {"calibration": {"bin_width": 0.3}}, "readiness.calibration.bin_width", "divide 1 exactly"),
        (
            "readiness",
            {"calibration": {"require_current_config": False}},
            "readiness.calibration.require_current_config",
            "must be one of True",
        ),
        ("context_template", {"include": ["a.b"]}, "context_template.include[0]", "pattern"),
        ("context_template", {"include": ["steps"]}, "context_template.include[0]", "a name of its own"),
        ("name", "a/b", "name", 'without "/"'),
        ("name", " x", "name", "begin or end with a blank"),
        ("name", "", "name", "at least 1"),
        ("name", "a\tb", "name", "printable"),
        # Executors' own configuration.
        (f"{STEP}.executor_config", {}, "steps[1].executor_config.command", "is required"),
        (f"{STEP}.executor_config", {"command": "ls -l"}, "steps[1].executor_config.command", "expected a list"),
        (
            f"{STEP}.executor_config",
            {"command": ["x"], "agent": "{{ vars.limit }}"},
            "steps[1].executor_config.agent",
            "identity",
        ),
        (f"{STEP}.grounding", {"agent": "{{ x }}"}, "steps[1].grounding.agent", "must be a name and not a template"),
        (f"{STEP}.executor_config", {"command": []}, "steps[1].executor_config.command", "at least 1"),
        (f"{STEP}.verifier", {"executor": "gateway"}, "steps[1].verifier.executor_config.agent", "is required"),
        (f"{STEP}.grounding", {"executor": "command"}, "steps[1].grounding.executor_config.command", "is required"),
    ],
)
def test_what_is_refused(path, value, field, message):
    loaded = load_with(path, value)
    assert loaded.config is None
    found = {problem.field: problem for problem in loaded.problems}
    assert field in found, messages(loaded)
    assert message in found[field].message
    assert found[field].file == "p.yaml"
    assert found[field].line > 0


@pytest.mark.parametrize("key", ["agent:b:1", "a:1", "agent:a", "{{ vars.limit }}"])
def test_a_session_key_must_belong_to_the_agent(key):
    step = {"name": "second", "executor": "gateway", "executor_config": {"agent": "a", "session_key": key}}
    [problem] = load_with_step(step).problems
    assert problem.message == "session_key must start with 'agent:a:'"


@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf", "1e999"])
def test_a_threshold_that_is_no_number_is_refused(number):
    text = f"name: p\nsteps:\n  - name: a\n    executor: command\n    confidence_threshold: {number}\n"
    [problem] = load(text).problems
    assert (problem.line, problem.field) == (5, "steps[0].confidence_threshold")


def test_step_names_are_unique():
    loaded = load_with("steps", [STEP_BODY, STEP_BODY])
    assert [(p.field, p.message) for p in loaded.problems] == [
        ("steps[1].name", "the name 'first' is used by an earlier step")
    ]
    loaded = load_with("steps", [{**STEP_BODY, "name": "a-b"}, {**STEP_BODY, "name": "a_b"}])
    assert loaded.problems[0].message == "'a_b' and 'a-b' are the same in templates"


def test_the_digest_depends_on_the_content_only():
    one, other = load_with("description", "a"), load_with("description", "b")
    assert one.config is not None
    assert one.digest == digest_of(one.config) != other.digest
    assert digest_of({"b": 1, "a": "é"}) == hashlib.sha256('{"a":"é","b":1}'.encode()).hexdigest()


def test_a_config_from_the_database_is_read_back_as_it_was():
    loaded = load_with(f"{STEP}.verifier", {**VERIFIER, "trigger": {"always": True}})
    pipeline = schema.Pipeline.model_validate(loaded.config)
    assert pipeline.model_dump(mode="json", by_alias=True) == loaded.config


@pytest.mark.parametrize(
    "same",
    ["a\nb", "a \nb\t", "\n\na\nb\n\n", "a\r\nb\r\n", "  \na\nb\n  \n"],
)
def test_the_prompt_hash_ignores_blanks_that_no_agent_sees(same):
    assert schema.prompt_hash(same) == hashlib.sha256(b"a\nb").hexdigest()[:12]


def test_the_prompt_hash_sees_everything_else():
    hashes = {schema.prompt_hash(text) for text in ["a\nb", " a\nb", "a\n\nb", "a b", "A\nb"]}
    assert len(hashes) == 5
    assert schema.prompt_hash(None) == schema.prompt_hash("") == schema.prompt_hash(" \n ") == ""


def test_readiness_keeps_a_tier_that_was_removed_apart_from_one_left_out():
    tiers = schema.Readiness.model_validate({"accuracy": None})
    assert tiers.model_dump() == {"accuracy": None}
    assert schema.Readiness.model_validate(tiers.model_dump()).model_fields_set == {"accuracy"}
