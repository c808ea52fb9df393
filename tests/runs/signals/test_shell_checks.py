import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from runs.pipelines.schema import ShellCheck
from runs.signals import checks
from runs.signals.base import Outcome
from tests.runs.signals.given import ANSWER, no_stop, subject

HOSTILE = [
    "; touch {0}",
    "$(touch {0})",
    "`touch {0}`",
    "' ; touch {0} ; '",
    '" ; touch {0} ; "',
    "a\ntouch {0}\n",
    "| tee {0}",
    "&& touch {0} &",
    "> {0}",
    "\\",
    "*",
    "-rf ~",
    "",
]


def run(command: str, expect: str = "exit_code == 0", *, seconds: float = 10, **given: object) -> Outcome:
    check = ShellCheck(type="shell", name="check", run=command, expect=expect, timeout_seconds=seconds)
    return checks.gather(subject(**given), check, no_stop())


def says(text: str) -> dict[str, object]:
    return {"answer": {"confidence": 0.9, "summary": text, "next_step_context": ""}}


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("command", ["printf '[%s]' {{ output.summary }}", 'printf "[%s]" "{{ output.summary }}"'])
def test_what_an_agent_says_is_one_quoted_argument(text: str, command: str, tmp_path: Path) -> None:
    said = text.format(tmp_path / "made")
    outcome = run(command, "stdout == '[' ~ output.summary ~ ']'", **says(said))
    assert (outcome.passed, outcome.error) == (True, "")
    assert not (tmp_path / "made").exists()


def test_a_nul_never_reaches_the_shell() -> None:
    outcome = run("printf %s {{ output.summary }}", **says("a\x00b"))
    assert (outcome.state, outcome.passed) == ("failed", False)
    assert outcome.error


def test_the_expression_sees_the_result() -> None:
    outcome = run("echo ' 12 '; echo oops >&2; exit 3", "result == '12' and exit_code == 3 and 'oops' in stderr")
    assert (outcome.state, outcome.passed, outcome.error) == ("done", True, "")
    assert outcome.detail["exit_code"] == 3
    assert outcome.detail["stdout"] == " 12 \n"
    assert outcome.detail["command"] == "echo ' 12 '; echo oops >&2; exit 3"


def test_command_and_expression_see_context_and_output() -> None:
    outcome = run("echo {{ vars.limit }} {{ output.percent }}", "output.percent > vars.limit and result == '90 97'")
    assert outcome.passed is True


def test_false_says_which_expression() -> None:
    outcome = run("echo 306; exit 1")
    assert (outcome.state, outcome.passed) == ("done", False)
    assert outcome.error == "not true: exit_code == 0; it printed '306' and ended with exit code 1"


@pytest.mark.parametrize(
    ("command", "expect", "why"),
    [
        ("true", "exit_code ==", "expect"),  # does not parse
        ("true", "nobody == 1", "nobody"),
        ("true", "output.nobody == 1", "nobody"),
        ("echo {{ output.nobody }}", "true", "nobody"),
        ("echo {{ nobody }}", "true", "nobody"),
        ("echo false", "result", "gave 'false'"),
        ("true", "exit_code", "gave 0"),
        ("true", "1 / 0 == 1", "zero"),
        ("echo {{ 1 / 0 }}", "true", "zero"),
        ("echo {{ output. }}", "true", ""),
    ],
)
def test_what_cannot_be_evaluated_has_failed(command: str, expect: str, why: str) -> None:
    outcome = run(command, expect)
    assert (outcome.state, outcome.passed) == ("failed", False)
    assert outcome.error
    assert why in outcome.error or why == "expect"


def test_a_default_of_the_author_is_no_hole() -> None:
    assert run("echo {{ output.nobody | default('x') }}", "result == 'x'").passed is True


def alive(mark: str) -> bool:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return any(mark in line for line in listed.splitlines() if "ps -eo" not in line)


def test_a_timeout_kills_the_shell_and_its_children() -> None:
    started = time.monotonic()
    outcome = run("sleep 98761 & sleep 98761; echo late", "true", seconds=0.3)
    assert (outcome.state, outcome.passed) == ("failed", False)
    assert "0.3 s" in outcome.error
    assert time.monotonic() - started < 5
    assert not alive("sleep 98761")


def test_a_child_that_keeps_the_output_open_does_not_hold_the_check() -> None:
    started = time.monotonic()
    outcome = run("sleep 98762 & echo done", "result == 'done'", seconds=20)
    assert outcome.passed is True
    assert time.monotonic() - started < 5
    assert not alive("sleep 98762")


def test_endless_output_is_stopped_and_decides_nothing() -> None:
    outcome = run("yes", "'y' in result", seconds=20)
    assert (outcome.state, outcome.passed) == ("failed", False)
    assert "1,000,000" in outcome.error


def test_errors_too_long_to_be_read_whole_decide_nothing() -> None:
    flood = "head -c 1100000 /dev/zero | tr '\\0' x >&2"
    outcome = run(flood, "'panic' not in stderr")
    assert (outcome.state, outcome.passed) == ("failed", False)
    assert "1,000,000" in outcome.error


def test_what_is_kept_of_a_long_output_is_short() -> None:
    outcome = run("head -c 50000 /dev/zero | tr '\\0' x", "stdout | length == 50000")
    assert outcome.passed is True
    assert len(outcome.detail["stdout"]) == 4001


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert run("printf '\\377a'", "result == '\ufffda'").passed is True


def test_standard_input_is_empty() -> None:
    assert run("cat", "result == ''").passed is True


def test_the_services_own_secrets_are_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTORSTEP_SECRET_KEY", "s3cret")
    monkeypatch.setenv("DATABASE_URL", "postgres://user:pw@host/db")
    monkeypatch.setenv("PROMETHEUS_URL", "http://prometheus")
    outcome = run("echo $VECTORSTEP_SECRET_KEY $DATABASE_URL $PROMETHEUS_URL", "result == 'http://prometheus'")
    assert outcome.passed is True


def test_a_stop_ends_the_command() -> None:
    stop = no_stop()
    threading.Timer(0.2, stop.set).start()
    check = ShellCheck(type="shell", name="check", run="sleep 98763", timeout_seconds=20)
    started = time.monotonic()
    outcome = checks.gather(subject(), check, stop)
    assert (outcome.state, outcome.passed, outcome.error) == ("failed", False, "stopped")
    assert time.monotonic() - started < 5


def test_a_command_too_long_for_the_system_has_failed() -> None:
    outcome = run("true {{ output.summary }}", **says("x" * 3_000_000))
    assert (outcome.state, outcome.passed) == ("failed", False)


def test_a_fault_of_our_own_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(checks, "evaluate", broken)
    outcome = run("true")
    assert (outcome.state, outcome.passed, outcome.error) == ("failed", False, "internal fault: RuntimeError: boom")


def test_commands_start_at_the_projects_root() -> None:
    assert run("ls manage.py").passed is True
    assert ANSWER["percent"] == 97
    assert os.path.exists("/bin/sh")
