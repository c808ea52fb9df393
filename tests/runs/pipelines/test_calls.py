"""Which pipelines may run which, decided over all files at a load."""

import json

from runs.pipelines.calls import refuse_bad_calls
from runs.pipelines.library import Library
from runs.pipelines.loader import load_bytes


def load(tmp_path, **calls):
    """Files named after their pipelines, each with a step for each pipeline it calls (or one command)."""
    files = []
    for name, callees in calls.items():
        steps = [
            {"name": f"to-{callee}", "executor": "pipeline", "executor_config": {"pipeline": callee}}
            for callee in callees
        ] or [{"name": "look", "executor": "command", "executor_config": {"command": ["true"]}}]
        raw = json.dumps({"name": name, "steps": steps}).encode()
        files.append(load_bytes(raw, f"{name}.yaml", Library(tmp_path)))
    return files


def problems(files, holders=None):
    return {
        item.name: [problem.message for problem in item.problems]
        for item in refuse_bad_calls(files, holders or {})
        if item.problems
    }


def test_calls_of_known_pipelines_pass(tmp_path):
    assert problems(load(tmp_path, a=["b", "c"], b=["c"], c=[])) == {}


def test_a_circle_is_refused_with_its_chain_in_each_of_its_files(tmp_path):
    found = problems(load(tmp_path, a=["b"], b=["c"], c=["a"], d=[]))
    assert found == {
        "a": ["a -> b -> c -> a: a pipeline cannot be part of itself"],
        "b": ["b -> c -> a -> b: a pipeline cannot be part of itself"],
        "c": ["c -> a -> b -> c: a pipeline cannot be part of itself"],
    }


def test_a_pipeline_that_calls_itself_is_refused(tmp_path):
    assert problems(load(tmp_path, a=["a"])) == {"a": ["a -> a: a pipeline cannot be part of itself"]}


def test_an_unknown_name_is_refused_with_the_closest_known_one(tmp_path):
    files = load(tmp_path, triage=["enrich-hots"], **{"enrich-hosts": []})
    assert problems(files) == {"triage": ["there is no pipeline 'enrich-hots'; did you mean 'enrich-hosts'?"]}


def test_what_calls_a_refused_pipeline_is_refused_unless_that_has_run_before(tmp_path):
    files = load(tmp_path, a=["b"], b=["nothing"])
    assert set(problems(files)) == {"a", "b"}
    assert set(problems(files, holders={"b": "b.yaml"})) == {"b"}  # its last good version runs on


def test_the_place_is_the_line_that_names_it(tmp_path):
    raw = b"name: a\nsteps:\n  - name: sub\n    executor: pipeline\n    executor_config:\n      pipeline: gone\n"
    [item] = refuse_bad_calls([load_bytes(raw, "a.yaml", Library(tmp_path))], {})
    assert str(item.problems[0]) == (
        "a.yaml:6: steps[0].executor_config.pipeline: there is no pipeline 'gone'; known: a"
    )


def test_a_template_cannot_name_it(tmp_path):
    raw = b"name: a\nsteps:\n  - {name: sub, executor: pipeline, executor_config: {pipeline: '{{ vars.x }}'}}\n"
    item = load_bytes(raw, "a.yaml", Library(tmp_path))
    assert "cannot be a template" in item.problems[0].message
