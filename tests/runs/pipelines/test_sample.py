"""The payload that is proposed for a pipeline that has not run."""

from runs.pipelines.sample import payload_sample
from runs.pipelines.schema import Pipeline


def sample(*steps, include=("data",)):
    step = {"executor": "command", "executor_config": {"command": ["true"]}}
    return payload_sample(
        Pipeline.model_validate(
            {
                "name": "p",
                "context_template": {"include": list(include)},
                "steps": [{**step, "name": f"s{n}", **fields} for n, fields in enumerate(steps)],
            }
        )
    )


def test_a_pipeline_that_names_nothing_wants_a_summary():
    assert sample({"prompt_template": "Do it."}) == {"summary": ""}


def test_fields_are_found_in_prompts_configurations_and_checks():
    assert sample(
        {
            "prompt_template": "{{ data.service }} {{ data.window['from'] | upper }} {{ severity }}",
            "executor_config": {"command": ["true", "{{ labels.host }}"]},
        },
        {"deterministic_checks": [{"type": "shell", "name": "c", "run": "test {{ data.file }} = {{ output.file }}"}]},
    ) == {
        "summary": "",
        "severity": "",
        "labels": {"host": ""},
        "data": {"service": "", "window": {"from": ""}, "file": ""},
    }


def test_a_whole_field_and_a_part_of_it_give_an_object_in_either_order():
    assert sample({"prompt_template": "{{ data }} {{ data.x }}"}) == {"summary": "", "data": {"x": ""}}
    assert sample({"prompt_template": "{{ data.x }} {{ data }}"}) == {"summary": "", "data": {"x": ""}}


def test_what_the_payload_does_not_give_is_left_out():
    prompt = "{{ vars.limit }} {{ steps.s0.cause }} {{ pipeline_name }}"
    assert sample({}, {"prompt_template": prompt}) == {"summary": ""}
