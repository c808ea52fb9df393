import contextlib
import json
import os
import signal
import sys
import threading
import time

import pytest

from runs import executors
from runs.executors.base import Call, ExecutorError, Stop, Stopped

CRLF = b"\r\n"
ANSWER = {"confidence": 0.9, "summary": "s", "next_step_context": "n"}


def ask(script="", *, command=None, timeout=20.0, stop=None, on_event=None, prompt="hello", context=None, **config):
    """Run this Python script as an agent."""
    config["command"] = command or [sys.executable, "-c", script]
    call = Call(prompt=prompt, config=config, timeout=timeout, idempotency_key="key-1", context=context or {})
    return executors.get("command").call(call, stop or Stop(), on_event or (lambda event: None))


def refused(*args, **kwargs):
    with pytest.raises(ExecutorError) as caught:
        ask(*args, **kwargs)
    return caught.value


def printing(*messages):
    return "\n".join(f"print({json.dumps(json.dumps(message))}, flush=True)" for message in messages)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition, seconds=5.0):
    """Another process changes the world in its own time."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    return condition()


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


# Programs that will not go quietly ----------------------------------------------------------------


def test_timeout_kills_and_keeps_what_was_said():
    started = time.monotonic()
    error = refused(
        printing({"type": "text", "content": "a"}) + "\nprint('half', flush=True)\nimport time; time.sleep(60)",
        timeout=0.5,
        agent="mine",
    )
    assert time.monotonic() - started < 3
    assert str(error) == "mine gave no answer within 0.5 s and was killed"
    assert error.retryable
    assert (error.raw, error.trace) == ("half\n", [{"type": "text", "content": "a"}])


def test_sigterm_comes_first():
    script = """
import signal, sys, time
def end(*_):
    print("saved", flush=True)
    sys.exit()
signal.signal(signal.SIGTERM, end)
time.sleep(60)
"""
    assert refused(script, timeout=0.5).raw == "saved\n"


@pytest.fixture
def family(tmp_path):
    """A program whose descendants write their process ids to a file: a child, a grandchild that left the group, one
    whose parent is gone."""
    pids = tmp_path / "pids"
    shell = f"echo $$ >> {pids}; exec sleep 300"
    script = f"""
import os, signal, subprocess, sys
signal.signal(15, signal.SIG_IGN)
sleep = {shell!r}
subprocess.Popen(["sh", "-c", sleep])
subprocess.Popen(["sh", "-c", sleep], process_group=0)
subprocess.run(["sh", "-c", "(" + sleep + ") & exit"])
subprocess.run(["sh", "-c", "trap '' TERM; (" + sleep + ") & exit"])
while len(open({str(pids)!r}).readlines() if os.path.exists({str(pids)!r}) else []) < 4: pass
"""

    def living():
        return [pid for pid in pids.read_text().split() if is_alive(pid)]

    return script, living


def test_no_descendant_survives_the_timeout(family):
    script, living = family
    refused(script + "print('ready', flush=True)\nimport time; time.sleep(60)", timeout=1.5)
    assert wait_for(lambda: not living())


def test_no_descendant_survives_a_stop(family):
    script, living = family
    stop = Stop()
    ready = printing({"type": "text", "content": "ready"})
    with pytest.raises(Stopped):
        ask(script + ready + "\nimport time; time.sleep(60)", stop=stop, on_event=lambda _: stop.set())
    assert wait_for(lambda: not living())


def test_descendants_that_hold_the_pipes_do_not_hold_up_the_answer(family):
    script, living = family
    started = time.monotonic()
    assert ask(script + "print('done')").text == "done\n"
    assert time.monotonic() - started < 5
    assert wait_for(lambda: not living())


def test_a_process_with_a_session_of_its_own_cannot_hold_up_the_answer(tmp_path):
    pid_file = tmp_path / "pid"
    shell = f"echo $$ > {pid_file}; exec yes"
    script = f"""
import os, subprocess
subprocess.Popen(["sh", "-c", {shell!r}], start_new_session=True)
while not os.path.exists({str(pid_file)!r}): pass
print("done")
"""
    with contextlib.suppress(ExecutorError):  # whether it has flooded past the limit by then is a matter of luck
        ask(script)
    pid = int(pid_file.read_text())
    if not wait_for(lambda: not is_alive(pid), 1):
        os.kill(pid, signal.SIGKILL)


def test_a_stop_before_the_start(tmp_path):
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        ask(f"open({str(tmp_path / 'ran')!r}, 'w')", stop=stop)
    assert not (tmp_path / "ran").exists()


def test_a_stop_after_the_end_is_harmless():
    stop = Stop()
    ask("print(1)", stop=stop)
    stop.set()


def test_an_input_that_is_never_read():
    assert ask("print('done')", prompt="x" * 5_000_000).text == "done\n"
    assert ask("import os, time; os.close(0); time.sleep(0.1); print('done')", prompt="x" * 5_000_000).text == "done\n"


def test_a_large_input_is_read_while_output_is_written():
    reply = ask(
        "import sys\nfor part in iter(lambda: sys.stdin.read(10_000), ''): sys.stdout.write(part)",
        prompt="x" * 3_000_000,
    )
    assert json.loads(reply.text)["prompt"] == "x" * 3_000_000


def test_an_output_that_is_closed_early():
    started = time.monotonic()
    reply = ask("import os, time; print('done', flush=True); os.close(1); os.close(2); time.sleep(0.3)")
    assert reply.text == "done\n"
    assert time.monotonic() - started >= 0.3


def test_a_flood_of_errors():
    error = refused("import sys\nfor n in range(300): sys.stderr.write(f'{n:03} ' + 'e' * 10_000)\nsys.exit(1)")
    assert str(error).endswith("e" * 1000)
    assert len(str(error)) < 3000


def test_too_much_output(service):
    service(limits={"answer_bytes": 100_000})
    error = refused("while True: print('x' * 999)", agent="mine")
    assert str(error) == "mine wrote more than 100000 bytes (limits.answer_bytes) and was killed"
    assert len(error.raw) <= 100_000
    error = refused("print('x' * 150_000)", agent="mine")  # one that has ended before anyone looked
    assert "wrote more than 100000 bytes" in str(error)
    assert len(ask("print('x' * 99_999)").text) == 100_000


def test_one_line_of_five_megabytes():
    assert len(ask("print('x' * 5_000_000)").text) == 5_000_001


def test_an_event_that_cannot_be_delivered_leaves_no_process():
    class Trouble(Exception):
        pass

    pid = []

    def on_event(event):
        pid.append(event["content"])
        raise Trouble

    script = (
        "import os, json, time; print(json.dumps({'type': 'text', 'content': os.getpid()}), flush=True); time.sleep(60)"
    )
    with pytest.raises(Trouble):
        ask(script, on_event=on_event)
    assert not is_alive(pid[0])


def test_twenty_at_once():
    replies = []
    threads = [threading.Thread(target=lambda n=n: replies.append(ask(f"print({n})").text.strip())) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, replies)) == list(range(20))


# Versions -----------------------------------------------------------------------------------------


@pytest.fixture
def agent(settings, tmp_path):
    settings.BASE_DIR = tmp_path
    (tmp_path / "agent.py").write_text("print(1)")
    (tmp_path / "soul.md").write_text("Be kind. ü")
    return tmp_path


def version(**config):
    return ask("print(1)", **config).agent_version


def test_the_version_follows_the_files(agent):
    assert version() == ""
    both = version(version_files=["agent.py", "soul.md"])
    assert len(both) == 12
    assert int(both, 16) >= 0
    assert version(version_files=["agent.py", "soul.md"]) == both
    assert version(version_files=["agent.py"]) != both
    (agent / "soul.md").write_text("Be stern.")
    changed = version(version_files=["agent.py", "soul.md"])
    assert changed != both
    (agent / "soul.md").write_text("Be kind. ü")
    assert version(version_files=["agent.py", "soul.md"]) == both


def test_text_that_moves_from_one_file_to_the_next_is_another_version(agent):
    files = ["agent.py", "soul.md"]
    before = version(version_files=files)
    text = (agent / "agent.py").read_text() + (agent / "soul.md").read_text()
    (agent / "agent.py").write_text(text[:3])
    (agent / "soul.md").write_text(text[3:])
    assert version(version_files=files) != before


def test_a_version_file_that_is_missing(agent):
    error = refused("print(1)", version_files=["nowhere.md"])
    assert str(error) == f"executor_config.version_files: cannot read {agent / 'nowhere.md'}: No such file or directory"
    assert not error.retryable


def test_describe(agent):
    config = {"command": ["python3", "agent.py"], "version_files": ["agent.py", "soul.md"], "env": {"KEY": "secret"}}
    definition = executors.get("command").describe(config)
    assert definition.version == version(version_files=["agent.py", "soul.md"])
    assert definition.soul == "==> agent.py <==\nprint(1)\n==> soul.md <==\nBe kind. ü"
    assert json.loads(definition.config) == {"command": ["python3", "agent.py"], "env": ["KEY"]}
    assert executors.get("command").describe({"command": ["x"]}) is None


def test_the_example_in_the_documentation_works(settings):
    page = (settings.BASE_DIR / "docs" / "command-agents.md").read_text(encoding="utf-8")
    script = page.split("```python\n")[1].split("```")[0]
    reply = ask(script)
    assert json.loads(reply.text)["confidence"] == 0.9
    assert [event["type"] for event in reply.trace] == ["tool_call", "tool_result"]


def test_unknown_executors_are_refused():
    with pytest.raises(ExecutorError, match="unknown executor 'magic'; there are command, gateway, webhook"):
        executors.get("magic")
