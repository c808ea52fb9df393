"""What a pipeline file may not hold: the field and what was expected are named."""

import pytest

from tests.runs.pipelines.loading import (
    BASE,
    HOOK,
    SHELL,
    STEP,
    VERIFIER,
    load,
    load_with,
    load_with_step,
    messages,
)

NOTE = {"channel": "slack", "template": "x", "config": {"url": "http://x"}}
STEP_BODY = BASE["steps"][0]


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
        ("budget", {"max_tokens": 0}, "budget.max_tokens", "greater than or equal to 1"),
        ("budget", {"max_tokens": 1.5}, "budget.max_tokens", "whole number"),
        ("budget", {"max_usd": 0}, "budget.max_usd", "greater than 0"),
        ("budget", {"max_usd": True}, "budget.max_usd", "expected an amount in dollars, such as 0.50"),
        ("budget", {"max_usd": "1"}, "budget.max_usd", "expected an amount in dollars, such as 0.50"),
        ("budget", {"max_usd": float("nan")}, "budget.max_usd", "expected an amount in dollars"),
        ("budget", {"max_usd": 1e-10}, "budget.max_usd", "no more than 9 decimal places"),
        ("budget", {"max_usd": 2e6}, "budget.max_usd", "less than or equal to 1000000"),
        ("budget", {"max_eur": 1}, "budget.max_eur", "unknown field"),
        ("schedule", {"cron": "* * * *"}, "schedule.cron", "needs 5 fields"),
        ("schedule", {"cron": "61 * * * *"}, "schedule.cron", "61 is not from 0 to 59"),
        ("schedule", {"cron": "5-1 * * * *"}, "schedule.cron", "ends before it begins"),
        ("schedule", {"cron": "*/0 * * * *"}, "schedule.cron", "never moves"),
        (
            "schedule",
            {"cron": "0 6 30 2 *"},
            "schedule.cron",
            "'0 6 30 2 *' never comes: no month",
        ),
        ("schedule", {"cron": "0 6 * * *", "allow_testing": "yes"}, "schedule.allow_testing", ""),
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
