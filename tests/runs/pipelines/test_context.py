"""What the templates of a step can see."""

import uuid

from runs.models import Run
from runs.pipelines import schema
from runs.pipelines.context import prompt_context
from runs.pipelines.templating import evaluate, render
from tests.runs.pipelines.loading import load_with

RUN_ID = uuid.UUID(int=7)
PAYLOAD = {
    "summary": "disk full",
    "severity": "high",
    "labels": {"app": "web"},
    "metadata": {"url": "http://x"},
    "data": {"id": 3},
    "alerts": [1, 2],
}
ANSWER = {"cause": "log", "confidence": 0.9, "trust": 0.8, "status": "completed", "artifacts": {"report": "text"}}


def context(payload=PAYLOAD, include=("data", "missing"), steps=None, **extra):
    loaded = load_with("context_template", {"include": list(include)})
    return prompt_context(
        run=Run(id=RUN_ID, pipeline_name="p", context=payload),
        steps={"look-up": ANSWER} if steps is None else steps,
        pipeline=schema.Pipeline.model_validate(loaded.config),
        current_step="second",
        extra=extra,
    )


def test_everything_that_is_always_there():
    seen = context(include=())
    assert seen == {
        "vars": {"limit": 3},
        "labels": {"app": "web"},
        "metadata": {"url": "http://x"},
        "summary": "disk full",
        "severity": "high",
        "pipeline_run_id": "00000000-0000-0000-0000-000000000007",
        "pipeline_name": "p",
        "current_step": "second",
        "steps": {"look-up": ANSWER, "look_up": ANSWER},
        "artifacts": {"look-up": {"report": "text"}, "look_up": {"report": "text"}},
    }


def test_only_included_fields_of_the_payload_are_names():
    seen = context()
    assert seen["data"] == {"id": 3}
    assert "alerts" not in seen
    assert "missing" not in seen


def test_an_included_field_the_payload_lacks_warns():
    assert render("{{ missing }}", context()).warnings == ["missing is missing"]


def test_steps_and_artifacts_are_reached_by_a_dot():
    seen = context()
    assert evaluate("steps.look_up.trust == 0.8 and steps['look-up'].cause == 'log'", seen)
    assert render("{{ artifacts.look_up.report }}", seen).text == "text"


def test_a_payload_cannot_take_the_place_of_a_name_of_ours():
    hostile = {**PAYLOAD, "steps": "x", "vars": "x", "pipeline_name": "x"}
    assert context(hostile)["steps"]["look_up"] is ANSWER


def test_a_payload_with_wrong_types_still_gives_objects():
    seen = context({"labels": ["a"], "metadata": None, "summary": None}, include=())
    assert (seen["labels"], seen["metadata"], seen["summary"], seen["severity"]) == ({}, {}, "", "")


def test_an_answer_with_artifacts_of_the_wrong_type_has_none():
    assert context(steps={"a": {"artifacts": "x"}})["artifacts"] == {"a": {}}


def test_extra_names_come_last():
    assert context(loop={"iteration": 2})["loop"] == {"iteration": 2}
