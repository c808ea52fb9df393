"""The ``command`` executor: what a program is given, and what its output comes to."""

import json
import sys

import pytest

from runs import executors
from runs.executors.base import Call, ExecutorError, Stop, Stopped
from tests.runs.executors.commanding import ask, printing, refused

CRLF = b"\r\n"
ANSWER = {"confidence": 0.9, "summary": "s", "next_step_context": "n"}


def test_it_is_an_agent_that_may_be_run_again():
    command = executors.get("command")
    assert (command.is_agent, command.on_interrupted) == (True, "rerun")


def test_the_input():
    reply = ask(
        "import sys; print(sys.stdin.read())",
        prompt="größe 🦉 \x00 \ud800",
        context={"run_id": "r", "step": "triage"},
        model="big",
    )
    assert json.loads(reply.text) == {
        "prompt": "größe 🦉 \x00 \ud800",
        "context": {"run_id": "r", "step": "triage"},
        "model": "big",
        "idempotency_key": "key-1",
        "timeout_seconds": 20.0,
    }
    assert reply.model == "big"


def test_protocol_lines_and_text():
    seen = []
    call, result = {"type": "tool_call", "name": "t", "input": {}}, {"type": "tool_result", "name": "t", "content": "3"}
    reply = ask(
        printing(
            call,
            {"type": "model", "model": "m", "provider": "p"},
            result,
            {"type": "usage", "input_tokens": 3, "output_tokens": 1},
            {"type": "usage", "input_tokens": 4, "output_tokens": True},
            ANSWER,
        ),
        on_event=seen.append,
        model="configured",
    )
    assert json.loads(reply.text) == ANSWER
    assert reply.trace == seen == [call, result]
    assert (reply.model, reply.provider) == ("m", "p")
    assert (reply.input_tokens, reply.output_tokens) == (7, 1)


def test_events_come_while_the_program_runs():
    stop = Stop()
    with pytest.raises(Stopped):
        ask(
            printing({"type": "text", "content": "a"}) + "\nimport time; time.sleep(60)",
            stop=stop,
            on_event=lambda _: stop.set(),
        )


def test_what_is_not_protocol_is_text():
    lines = ['{"type": "ticket"}', '{"type": 5}', '{"no": "type"}', "[1]", "{broken", "plain", '{"type": ["text"]}']
    reply = ask("import sys; sys.stdout.write(" + repr("\n".join(lines)) + ")")
    assert reply.text == "\n".join(lines)
    assert reply.trace == []
    assert (reply.model, reply.input_tokens) == ("", None)


def test_an_answer_spread_over_lines_is_text():
    text = json.dumps(ANSWER, indent=2)
    assert ask(f"print({text!r})").text == text + "\n"


@pytest.mark.parametrize(
    "record", [{"type": "answer", "answer": ANSWER}, {"type": "answer", "text": json.dumps(ANSWER)}]
)
def test_an_answer_record_is_the_answer_and_other_text_goes_to_the_trace(record):
    reply = ask("print('loading')\n" + printing({"type": "answer", "text": "first"}, record) + "\nprint('bye')")
    assert json.loads(reply.text) == ANSWER
    assert reply.trace == [{"type": "text", "content": "loading\nbye"}]


def test_output_that_is_no_utf8_nul_and_surrogates():
    event = rb'{"type": "text", "content": "x\u0000\ud800"}'
    reply = ask(
        f"import sys; sys.stdout.buffer.write({b'a' + bytes([255, 0]) + b'b' + CRLF + event + CRLF + b'end'!r})"
    )
    assert reply.text == "a\ufffd\x00b\r\nend"
    assert reply.trace == [{"type": "text", "content": "x\\u0000\\ud800"}]


@pytest.mark.parametrize("code", [1, 3, 255])
def test_a_failing_program(code):
    error = refused(f"import sys; print('half'); sys.stderr.write('it broke'); sys.exit({code})", agent="mine")
    assert str(error) == f"mine ended with exit code {code}; its error output ends: it broke"
    assert error.retryable
    assert (error.raw, error.trace) == ("half\n", [])


def test_a_program_killed_by_a_signal():
    assert str(refused("import os; os.kill(os.getpid(), 9)", agent="mine")) == "mine was killed by signal 9"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["/nowhere/to/be/found"], "could not be started"),
        (["no-such-program-anywhere"], "is it installed, and in the PATH of the worker?"),
        (["README.md/x"], "could not be started"),
        ([sys.executable, "a\x00b"], "could not be started"),
        ([sys.executable, "\ud800"], "could not be started"),
        ([sys.executable, "x" * 5_000_000], "could not be started"),
        ([], "executor_config.command"),
        ("python3 x.py", "executor_config.command"),
        ([["x"]], "executor_config.command"),
        ([None], "executor_config.command"),
    ],
)
def test_what_cannot_be_started(command, message):
    call = Call(prompt="", config={"command": command}, timeout=5, idempotency_key="")
    with pytest.raises(ExecutorError) as caught:
        executors.get("command").call(call, Stop(), lambda event: None)
    assert message in str(caught.value)
    assert not caught.value.retryable
    assert len(str(caught.value)) < 1000


def test_no_shell_reads_the_arguments():
    nasty = "$(touch /tmp/x); `id` | cat && * > y '\"\\ \n"
    reply = ask(command=[sys.executable, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", nasty, 5])
    assert json.loads(reply.text) == [nasty, "5"]


def test_the_environment_holds_no_secret_of_the_server(monkeypatch):
    for name in ("DATABASE_URL", "VECTORSTEP_SECRET_KEY", "MY_TOKEN", "API_KEY"):
        monkeypatch.setenv(name, "secret")
    reply = ask(
        "import os, json; print(json.dumps(dict(os.environ)))",
        env={"A": "b", "LANG": "x"},
        pass_env=["API_KEY", "UNSET_NAME"],
    )
    seen = json.loads(reply.text)
    assert {"DATABASE_URL", "VECTORSTEP_SECRET_KEY", "MY_TOKEN", "UNSET_NAME"}.isdisjoint(seen)
    assert (seen["A"], seen["LANG"], seen["API_KEY"]) == ("b", "x", "secret")
    assert set(seen) <= {
        *("A", "API_KEY", "PATH", "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "TMPDIR", "TZ", "USER"),
        "PYTHONIOENCODING",
    }


@pytest.mark.parametrize("name", ["DATABASE_URL", "VECTORSTEP_SECRET_KEY", "VECTORSTEP_ADMIN_PASSWORD"])
def test_the_servers_secrets_cannot_be_passed_on(name):
    assert f"got '{name}'" in str(refused("", pass_env=["HOME", name]))


def test_python_is_the_interpreter_of_the_server():
    reply = ask(command=["python3", "-c", "import sys; print(sys.prefix)"])
    assert reply.text.strip() == sys.prefix


def test_paths_start_at_the_projects_root(settings, tmp_path):
    settings.BASE_DIR = tmp_path
    program = tmp_path / "bin" / "agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\npwd\n")
    program.chmod(0o755)
    assert ask(command=["bin/agent"]).text.strip() == str(tmp_path)
    assert ask(command=["bin/agent"], cwd="bin").text.strip() == str(tmp_path / "bin")
    assert ask(command=["bin/agent"], cwd="/").text.strip() == "/"
    assert "could not be started" in str(refused(command=["bin/agent"], cwd="nowhere"))


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"command": ["python3", "-u", "examples/agents/triage.py", "--fast"]}, "triage"),
        ({"command": ["bin/agent.sh"]}, "agent"),
        ({"command": ["uv", "run", "my-agent"]}, "my-agent"),
        ({"command": ["python3", "-m", "agents.triage"]}, "agents.triage"),
        ({"command": ["python3"]}, "python3"),
        ({"command": ["/usr/bin/sh", "-c", "echo hello"]}, "sh"),
        ({"command": ["x.py"], "agent": "named"}, "named"),
        ({"command": "x.py"}, ""),
        ({}, ""),
    ],
)
def test_agent_name(config, name):
    assert executors.get("command").agent_name(config) == name


def test_the_example_in_the_documentation_works(settings):
    page = (settings.BASE_DIR / "docs" / "command-agents.md").read_text(encoding="utf-8")
    script = page.split("```python\n")[1].split("```")[0]
    reply = ask(script)
    assert json.loads(reply.text)["confidence"] == 0.9
    assert [event["type"] for event in reply.trace] == ["tool_call", "tool_result"]


def test_unknown_executors_are_refused():
    with pytest.raises(ExecutorError, match="unknown executor 'magic'; there are command, gateway, webhook"):
        executors.get("magic")
