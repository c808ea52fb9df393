"""Groups in files: everything they may say loads, and what they may not is refused where it stands."""

import json

import pytest

from runs.pipelines.library import Library
from tests.runs.pipelines.loading import BASE, SHELL, VERIFIER, load, load_with, messages

BODY = BASE["steps"][0]


def _fan_out(**fields):
    return {"fan_out": {**BODY, "name": "each", "over": "{{ vars.limit }}", **fields}}


def _parallel(*branches, **fields):
    return {"parallel": {"name": "both", "steps": list(branches) or [BODY], **fields}}


def _then(prompt):
    return {**BODY, "name": "then", "prompt_template": prompt}


@pytest.mark.parametrize(
    "entry",
    [
        _parallel({**BODY, "weight": 2.0, "confidence_threshold": 0.5, "when": "true"}),
        _parallel(join="weighted_average", confidence_threshold=0.5, on_low_confidence="abort", on_abort="notify"),
        _parallel(timeout_seconds=60, when="summary != ''"),
        _fan_out(**{"as": "host"}, join="any_must_pass", max_items=3, on_empty="skip", timeout_seconds=5),
        _fan_out(
            verifier=VERIFIER, grounding={"agent": "judge"}, deterministic_checks=[SHELL], calibration={}, retry={}
        ),
    ],
)
def test_all_that_a_group_may_say_loads(entry):
    assert messages(load_with("steps", [entry])) == []


@pytest.mark.parametrize(
    ("prompt", "problem"),
    [
        ("{{ steps['each/0'].summary }}{{ steps.each[0].summary }}{{ steps['both/first'].x }}", None),
        ("{{ steps['each/x'].summary }}", "unknown name \"steps['each/x']\""),
        ("{{ steps['both/other'].x }}", "unknown name \"steps['both/other']\""),
        ("{{ item }}", "unknown name 'item'"),
    ],
)
def test_what_later_steps_may_name(prompt, problem):
    found = messages(load_with("steps", [_fan_out(), _parallel(), _then(prompt)]))

    assert (not found) if problem is None else problem in found[0]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (_parallel(BODY, BODY), "the name 'first' is used by an earlier step"),
        (_parallel({**BODY, "prompt_template": "{{ steps['both/first'].x }}"}), "unknown name"),
        (_fan_out(**{"as": "steps"}), "'steps' is a name of its own in templates"),
        (_fan_out(prompt_template="{{ itm.x }}"), "unknown name 'itm'; did you mean 'item'?"),
        (_fan_out(over="{{ vars.limits }}"), "unknown name 'vars.limits'"),
        (_fan_out(max_items=10_001), "max_items"),
        (_parallel(steps=[]), "steps"),
    ],
)
def test_what_a_group_may_not_say_is_refused_at_its_line(entry, problem):
    loaded = load_with("steps", [entry])

    assert problem in messages(loaded)[0]
    assert loaded.problems[0].line > 1


def test_a_branch_may_come_from_the_step_library(tmp_path):
    (tmp_path / "shared.yaml").write_text(
        "executor: command\nexecutor_config: {command: [ls]}\nprompt_template: '{{ nope }}'\n"
    )
    pipeline = {
        "name": "p",
        "steps": [_parallel({"use": "shared", "name": "a"}), {"fan_out": {"use": "shared", "over": "[1]"}}],
    }

    found = load(json.dumps(pipeline, indent=1), Library(tmp_path))

    assert [one.file.endswith("/shared.yaml") and one.line for one in found.problems] == [3, 3]
    assert [one.field for one in found.problems] == [
        "steps[0].parallel.steps[0].prompt_template",
        "steps[1].fan_out.prompt_template",
    ]


def test_a_step_that_stands_twice_by_an_alias_takes_from_the_library_twice(tmp_path):
    (tmp_path / "shared.yaml").write_text("executor: command\nexecutor_config: {command: [ls]}\n")
    text = """
name: p
steps:
  - parallel: {name: a, steps: &branches [{use: shared, name: one}, {use: shared, name: two}]}
  - parallel: {name: b, steps: *branches}
"""

    found = load(text, Library(tmp_path))

    assert messages(found) == []
    assert [len(entry["parallel"]["steps"]) for entry in found.config["steps"]] == [2, 2]
