"""Problems of files: each has file, line, field and what was expected; the step library; names in texts."""

import os
from pathlib import Path

import pytest

from runs.pipelines.library import Library
from runs.pipelines.loader import load_file, pipeline_files
from tests.runs.pipelines.loading import load, load_with, messages

HEAD = "name: p\nvars: {limit: 3}\ncontext_template: {include: [data]}\nsteps:\n"
FIRST = "  - name: look-up\n    executor: command\n    executor_config: {command: [ls]}\n"


def step(*lines: str) -> str:
    """A second step, so that there is an earlier one; its first line is line 8 of the file."""
    return (
        HEAD
        + FIRST
        + "  - name: two\n    executor: command\n    executor_config: {command: [ls]}\n"
        + "".join(f"    {line}\n" for line in lines)
    )


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["when: stepz.x"], "p.yaml:11: steps[1].when: unknown name 'stepz'; did you mean 'steps'?"),
        (["when: steps.lookup.x"], "p.yaml:11: steps[1].when: unknown name 'steps.lookup'; did you mean 'look_up'?"),
        (["when: steps.two.x"], "p.yaml:11: steps[1].when: unknown name 'steps.two': a step cannot see its own answer"),
        (["when: vars.limt > 1"], "p.yaml:11: steps[1].when: unknown name 'vars.limt'; did you mean 'limit'?"),
        (
            ["when: artifacts.nope.x"],
            "p.yaml:11: steps[1].when: unknown name 'artifacts.nope'; known: look-up, look_up",
        ),
        (["when: loop.iteration > 1"], "p.yaml:11: steps[1].when: 'loop' is not available here: it exists in"),
        (
            ["when: output.x"],
            "p.yaml:11: steps[1].when: 'output' is not available here: it exists in deterministic_checks",
        ),
        (["when: '{{ vars.limit }}'"], "p.yaml:11: steps[1].when: is a bare expression: leave out the braces {{ }}"),
        (["when: vars.limit >"], "p.yaml:11: steps[1].when: unexpected end"),
        (["when: vars.limit | uper"], "p.yaml:11: steps[1].when: unknown filter 'uper'; did you mean 'upper'?"),
        (["when: vars.limit is evn"], "p.yaml:11: steps[1].when: unknown test 'evn'; did you mean 'even'?"),
        (["when: vars.__class__"], "p.yaml:11: steps[1].when: '__class__' is not allowed: templates cannot"),
        (
            ["prompt_template: |", "  fine", "  {{ sumary }}"],
            "p.yaml:13: steps[1].prompt_template: unknown name 'sumary'; did you mean 'summary'?",
        ),
        (
            ["prompt_template: |", "  fine", "", "  {{ summary"],
            "p.yaml:14: steps[1].prompt_template: unexpected end of template",
        ),
        (["prompt_template: |", "  {% if x %}"], "p.yaml:12: steps[1].prompt_template: "),
        (
            ["prompt_template: '{{ dat }}'"],
            "p.yaml:11: steps[1].prompt_template: unknown name 'dat'; did you mean 'data'?",
        ),
        (
            ["prompt_template: '{{ event }}'"],
            "p.yaml:11: steps[1].prompt_template: 'event' is not available here: add it to context_template.include",
        ),
        (
            ["prompt_template: '{{ loop.iteration }}'"],
            "p.yaml:11: steps[1].prompt_template: 'loop' is not available here",
        ),
        (
            ["loop_until: {confidence: 0.9}", "prompt_template: '{{ loop.iterations }}'"],
            "p.yaml:12: steps[1].prompt_template: unknown name 'loop.iterations'; did you mean 'iteration'?",
        ),
        (
            ["loop_until: {confidence: 0.9}", "when: loop.iteration"],
            "p.yaml:12: steps[1].when: 'loop' is not available here",
        ),
        (
            [
                "loop_until: {confidence: 0.9}",
                "verifier:",
                "  executor: gateway",
                "  mode: independent",
                "  executor_config: {agent: j, model: '{{ loop.iteration }}'}",
            ],
            "p.yaml:15: steps[1].verifier.executor_config.model: 'loop' is not available here",
        ),
        (
            ["grounding:", "  executor_config:", "    model: '{{ modl }}'"],
            "p.yaml:13: steps[1].grounding.executor_config.model: unknown name 'modl'",
        ),
        (
            [
                "deterministic_checks:",
                "  - type: shell",
                "    name: c",
                "    run: |",
                "      echo",
                "      echo {{ outptu.x }}",
            ],
            "p.yaml:16: steps[1].deterministic_checks[0].run: unknown name 'outptu'; did you mean 'output'?",
        ),
        (
            ["deterministic_checks:", "  - {type: shell, name: c, run: 'echo `x {{ output.x }}`'}"],
            "p.yaml:12: steps[1].deterministic_checks[0].run: a value after a backtick cannot be quoted safely",
        ),
        (
            ["deterministic_checks:", "  - {type: shell, name: c, run: '{% set x %}a{% endset %}{{ x }}'}"],
            "p.yaml:12: steps[1].deterministic_checks[0].run: macro, call, filter and set blocks are not allowed",
        ),
        (
            ["deterministic_checks:", "  - {type: shell, name: c, run: 'x', expect: exitcode == 0}"],
            "p.yaml:12: steps[1].deterministic_checks[0].expect: unknown name 'exitcode'; did you mean 'exit_code'?",
        ),
        (
            ["deterministic_checks:", "  - {type: shell, name: c, run: 'x', expect: response.body}"],
            "p.yaml:12: steps[1].deterministic_checks[0].expect: 'response' is not available here",
        ),
        (
            ["deterministic_checks:", "  - {type: webhook, name: c, url: 'http://x', expect: response.status < 4}"],
            "p.yaml:12: steps[1].deterministic_checks[0].expect: unknown name 'response.status'; did you mean",
        ),
        (
            [
                "deterministic_checks:",
                "  - type: webhook",
                "    name: c",
                "    url: http://x",
                "    payload:",
                "      a: ['{{ y }}']",
            ],
            "p.yaml:16: steps[1].deterministic_checks[0].payload.a[0]: unknown name 'y'",
        ),
    ],
)
def test_names_in_texts_are_checked_where_they_stand(lines, problem):
    found = messages(load(step(*lines)))
    assert len(found) == 1
    assert found[0].startswith(problem)


def test_a_name_like_no_other_may_be_a_field_of_the_payload():
    [problem] = messages(load(step("prompt_template: '{{ zebra }}'")))
    assert problem.endswith("vars; or, if the payload has such a field, list it in context_template.include")


@pytest.mark.parametrize(
    "lines",
    [
        ["when: steps.look_up.anything.at.all > 1 and steps['look-up'].confidence | default(0) > 0"],
        ["when: data.x and labels.y and metadata.z and severity == 'a' and pipeline_run_id and pipeline_name"],
        ["when: current_step == 'two' and artifacts.look_up.report"],
        ["when: vars.get('nope', 3) == 3 and vars.limit"],
        ["prompt_template: '{% for s in vars %}{{ loop.index }}{{ s }}{% endfor %}'"],
        ["prompt_template: '{% set steps = {} %}{{ steps.x }}'"],
        ["prompt_template: '{% macro m(vars) %}{{ vars.x }}{% endmacro %}{{ m({}) }}'"],
        ["prompt_template: '{% for i in range(3) %}{% set n = namespace(a=1) %}{{ n.a }}{{ dict(a=1) }}{% endfor %}'"],
        ["prompt_template: 'braces {x} and } are text'"],
        [
            "loop_until: {confidence: 0.9}",
            "prompt_template: '{{ loop.iteration }}{{ loop.prior_output.x }}{{ loop.prior_confidence }}'",
        ],
        [
            "loop_until: {confidence: 0.9}",
            "verifier: {executor: gateway, executor_config: {agent: j, model: '{{ loop.iteration }}'}}",
        ],
        [
            "deterministic_checks:",
            "  - {type: shell, name: c, run: 'test \"{{ output.x }}\" = {{ vars.limit }}', expect: output.n == 3}",
        ],
        [
            "deterministic_checks:",
            "  - {type: webhook, name: c, url: 'http://{{ output.h }}', expect: response.body.ok and response.text}",
        ],
        [
            "deterministic_checks:",
            "  - {type: shell, name: c, run: 'echo ${HOME} $(id) `id`', expect: stderr == '' and stdout}",
        ],
    ],
)
def test_names_that_exist_are_let_through(lines):
    assert messages(load(step(*lines))) == []


def test_all_problems_are_told_at_once_in_the_order_of_the_file():
    found = load(
        step(
            "when: x1",
            "prompt_template: '{{ x2 }} {{ x3 }}'",
            "deterministic_checks: [{type: shell, name: c, run: '{{ x4 }}'}]",
        )
    )
    assert [problem.line for problem in found.problems] == [11, 12, 12, 13]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "p.yaml:1: expected a pipeline (an object with name and steps)"),
        ("- a\n- b", "p.yaml:1: expected a pipeline"),
        ("name: p\n", "p.yaml:1: steps: is required"),
        (
            "name: p\nsteps:\n  - name: a\n    name: b\n",
            "p.yaml:4: steps[0].name: the key 'name' appears twice (first on line 3)",
        ),
        ("name: p\nsteps: [", "p.yaml:2: "),
        ("name: p\nsteps:\n\t- a", "p.yaml:3: a tab is used"),
    ],
)
def test_a_file_that_is_no_pipeline(text, problem):
    assert messages(load(text))[0].startswith(problem)


def test_a_missing_field_is_placed_at_its_step():
    found = load(HEAD + FIRST + "  - name: two\n")
    assert messages(found) == ["p.yaml:8: steps[1].executor: is required"]


def test_a_directory_instead_of_a_file_is_a_problem(tmp_path):
    (tmp_path / "a.yaml").mkdir()
    [problem] = load_file(tmp_path / "a.yaml", "a.yaml", Library(tmp_path)).problems
    assert problem.message.startswith("cannot be read: Is a directory")


def test_a_pipe_instead_of_a_file_is_a_problem_and_nobody_waits_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    loaded = load_file(tmp_path / "pipe.yaml", "pipe.yaml", Library(tmp_path))
    assert [problem.message for problem in loaded.problems] == ["cannot be read: it is no regular file"]


def test_a_file_far_too_long_is_not_read_to_its_end(tmp_path):
    with (tmp_path / "a.yaml").open("wb") as file:
        file.truncate(10**10)
    [problem] = load_file(tmp_path / "a.yaml", "a.yaml", Library(tmp_path)).problems
    assert "at most 1000000" in problem.message


def test_only_yaml_files_are_pipelines_in_the_order_of_their_names(tmp_path):
    for name in ["b.yaml", "a.yml", "c.txt", ".hidden.yaml", "d.yaml~"]:
        (tmp_path / name).touch()
    assert [path.name for path in pipeline_files(tmp_path)] == ["a.yml", "b.yaml"]
    assert pipeline_files(tmp_path / "nowhere") == []


# The step library -----------------------------------------------------------------------------------


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    (tmp_path / "check.yaml").write_text(
        "description: for people\ntags: [x]\nexecutor: command\n"
        "executor_config:\n  command: [ls]\n  env: {A: '1'}\n"
        "prompt_template: |\n  Look at\n  {{ summary }}\nretry: {attempts: 5}\n"
    )
    return tmp_path


def use(steps: Path, *lines: str):
    return load(
        HEAD + "".join(f"  {line}\n" for line in ("- use: check", *("  " + line for line in lines))), Library(steps)
    )


def test_a_step_of_the_library_is_used_as_it_is(steps):
    loaded = use(steps)
    assert messages(loaded) == []
    [step] = loaded.config["steps"]
    assert (step["name"], step["executor"], step["retry"]["attempts"]) == ("check", "command", 5)
    assert not {"use", "description", "tags"} & step.keys()


def test_what_the_step_says_wins_and_only_executor_config_merges(steps):
    [step] = use(steps, "name: mine", "retry: {backoff: exponential}", "executor_config: {env: {B: '2'}}").config[
        "steps"
    ]
    assert step["name"] == "mine"
    # retry is replaced whole, so its attempts are the default again.
    assert step["retry"] == {"attempts": 3, "backoff": "exponential", "delay_seconds": 1}
    assert step["executor_config"] == {"command": ["ls"], "env": {"B": "2"}}


def test_a_step_that_uses_the_library_has_the_digest_of_one_written_out(steps):
    used = use(steps, "name: mine")
    written = load(
        HEAD + "  - name: mine\n    executor: command\n    executor_config: {env: {A: '1'}, command: [ls]}\n"
        '    retry: {attempts: 5}\n    prompt_template: "Look at\\n{{ summary }}\\n"\n'
    )
    assert used.digest == written.digest


def test_two_uses_need_two_names(steps):
    loaded = load(HEAD + "  - use: check\n  - use: check\n  - {use: check, name: other}\n", Library(steps))
    assert [problem.message for problem in loaded.problems] == ["the name 'check' is used by an earlier step"]


@pytest.mark.parametrize("name", ["chek", "../check", "check.yaml", "", "3", "[a]", "null"])
def test_an_unknown_step_is_refused(steps, name):
    loaded = load(HEAD + f"  - use: {name}\n", Library(steps))
    assert any(problem.field == "steps[0].use" and "in the library" in problem.message for problem in loaded.problems)
    if name == "chek":
        assert messages(loaded) == ["p.yaml:5: steps[0].use: no step 'chek' in the library; did you mean 'check'?"]


def test_a_problem_in_the_library_names_the_library_file_and_its_line(steps):
    (steps / "check.yaml").write_text(
        "executor: command\nexecutor_config:\n  command: [ls]\n  cwdd: x\nretry:\n  attempts: 0\n"
    )
    assert sorted(messages(use(steps, "timeout_seconds: 0")), reverse=True) == [
        f"{steps.name}/check.yaml:6: steps[0].retry.attempts: must be greater than or equal to 1, found a number (0)",
        "p.yaml:6: steps[0].timeout_seconds: must be greater than 0, found a number (0)",
    ]
    (steps / "check.yaml").write_text("executor: command\nexecutor_config:\n  command: [ls]\n  cwdd: x\n")
    [problem] = use(steps, "executor_config: {cwd: y}").problems
    assert (problem.file, problem.line) == (f"{steps.name}/check.yaml", 4)


def test_a_problem_in_a_text_of_the_library_has_the_line_of_the_text(steps):
    (steps / "check.yaml").write_text(
        "executor: command\nexecutor_config: {command: [ls]}\nprompt_template: |\n  a\n  {{ sumary }}\n"
    )
    [problem] = use(steps).problems
    assert (problem.file, problem.line) == (f"{steps.name}/check.yaml", 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not valid YAML"),
        ("- x", "expected a step (an object)"),
        ("use: other", "cannot use another"),
        ("executor: command\nexecutor: gateway", "appears twice"),
        ("descripton: x\nexecutor: command", "unknown field"),
    ],
)
def test_a_broken_step_of_the_library_breaks_the_pipelines_that_use_it(steps, text, message):
    (steps / "check.yaml").write_text(text)
    problems = use(steps, "name: x").problems
    assert any(message in problem.message and problem.file.endswith("check.yaml") for problem in problems)
    assert messages(load(HEAD + FIRST, Library(steps))) == []


def test_a_group_field_outside_a_group_is_unknown():
    assert "unknown field" in load_with("steps.1.join", "x").problems[0].message
