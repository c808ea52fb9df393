"""manage.py serve as an operator meets it: started, stopped, interrupted, started twice, started wrongly."""

import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.services import ROOT, Process, answers, free_port, wait_until
from vectorstep.processes import descendants

RUNNING = "is running at"


@pytest.fixture(scope="module")
def started_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A var folder as a first start leaves it."""
    folder = tmp_path_factory.mktemp("started-once")
    env = environment(folder / "var")
    first = Process([sys.executable, "manage.py", "serve"], name="first", folder=folder, env=env, inherit=False)
    first.wait_for_line(RUNNING)
    first.stop()
    return folder / "var"


@pytest.fixture
def var(tmp_path: Path, started_once: Path) -> Path:
    return Path(shutil.copytree(started_once, tmp_path / "var"))


def environment(var: Path) -> dict[str, str]:
    """A server of its own: SQLite and the broker made of files under ``var``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VECTORSTEP_", "DJANGO_"))}
    for name in ("DATABASE_URL", "CELERY_BROKER_URL", "PYTHONUNBUFFERED"):
        kept.pop(name, None)
    return {**kept, "VECTORSTEP_VAR": str(var), "VECTORSTEP_PORT": str(free_port())}


@pytest.fixture
def environ(var: Path) -> dict[str, str]:
    return environment(var)


@pytest.fixture
def serve(environ: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def serve(*options: str, wait: bool = True, **extra: str) -> Process:
        process = Process(
            [sys.executable, "manage.py", "serve", *options],
            name=f"serve-{len(started)}",
            folder=tmp_path,
            env={**environ, **extra},
            inherit=False,
        )
        started.append(process)
        process.url = f"http://127.0.0.1:{environ['VECTORSTEP_PORT']}"
        if wait:
            process.wait_for_line(RUNNING)
        return process

    yield serve
    for process in started:
        process.stop()
        sys.stdout.write(f"--- {process.name}\n{process.log()}")


def refused(process: Process) -> str:
    """The only line of a server that would not start."""
    assert process.popen.wait(timeout=20) == 1, process.log()
    lines = process.log().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def gone(pids: list[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_the_first_start_shows_a_password_and_a_login_page(serve, tmp_path):
    process = serve(VECTORSTEP_VAR=str(tmp_path / "new"))
    assert re.search(r"[Pp]assword", process.log())
    with urllib.request.urlopen(f"{process.url}/ui/") as page:
        assert "login" in page.url
        assert 'name="password"' in page.read().decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_leaves_no_process(serve, number):
    process = serve()
    below = descendants(process.pid)
    assert len(below) >= 3
    process.signal(number)
    started = time.monotonic()
    assert process.popen.wait(timeout=15) == 0
    assert time.monotonic() - started < 5
    assert gone(below)
    assert process.log().rstrip().endswith("Stopped.")


def test_killing_the_supervisor_leaves_no_process(serve):
    process = serve()
    below = descendants(process.pid)
    process.signal(signal.SIGKILL)
    process.popen.wait(timeout=5)
    wait_until(lambda: gone(below), seconds=12, what="the children noticing")


SLOW = """
name: slow
stage: production
steps:
  - name: sleeps
    executor: command
    executor_config: {command: [sleep, "987"]}
    prompt_template: Sleep well.
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_running_agent_ends_with_the_server_and_is_not_called_failed(serve, environ, tmp_path, number):
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "slow.yaml").write_text(SLOW)
    process = serve(VECTORSTEP_PIPELINES=str(tmp_path / "pipelines"))
    subprocess.run([sys.executable, "manage.py", "run", "slow", "--no-follow"], cwd=ROOT, env=environ, check=True)
    process.wait_until(lambda: "sleep" in programs(process.pid), what="the agent running")
    below = descendants(process.pid)
    process.signal(number)
    wait_until(lambda: gone(below), seconds=15, what="the agent ending")
    with sqlite3.connect(Path(environ["VECTORSTEP_VAR"]) / "vectorstep.sqlite3") as database:
        assert database.execute("select status from runs_run").fetchall() == [("running",)]


def programs(pid: int) -> set[str]:
    return {
        Path(f"/proc/{each}/comm").read_text().strip() for each in descendants(pid) if Path(f"/proc/{each}").exists()
    }


def test_an_open_stream_does_not_delay_the_end(serve, environ):
    process = serve()
    with socket.create_connection(("127.0.0.1", int(environ["VECTORSTEP_PORT"]))) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")  # a request that never ends
        process.signal(signal.SIGINT)
        assert process.popen.wait(timeout=30) == 0  # about 2 s on two free cores; without a limit, for ever


def test_a_second_start_takes_seconds_and_keeps_the_password(serve):
    started = time.monotonic()
    process = serve()
    assert time.monotonic() - started < 20  # about 2.5 on two free cores
    assert "assword" not in process.log()


def test_a_child_that_dies_is_started_again(serve, environ):
    process = serve()
    for pid in descendants(process.pid):
        if b"uvicorn" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    process.wait_for_line("web    | ended unexpectedly (killed by signal 9); starting again in 1 s")
    process.wait_until(lambda: answers(f"{process.url}/health"), what="answering again")


def test_hanging_up_reloads_the_pipelines(serve, tmp_path):
    pipelines = tmp_path / "pipelines"
    pipelines.mkdir()
    process = serve(VECTORSTEP_PIPELINES=str(pipelines))
    (pipelines / "broken.yaml").write_text("name: [")
    process.signal(signal.SIGHUP)
    process.wait_for_line("broken.yaml")
    assert process.running()


def test_a_taken_port_is_one_line(serve, environ):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = serve(wait=False, VECTORSTEP_PORT=str(port))
        assert refused(process) == f"error: port {port} is taken; set VECTORSTEP_PORT to a free one"


def test_two_servers_on_one_folder_are_refused(serve):
    first = serve()
    second = serve(wait=False, VECTORSTEP_PORT=str(free_port()))
    assert f"another server (process {first.pid}) is running on" in refused(second)
    assert first.running()


def test_a_file_in_the_place_of_the_folder_is_one_line(serve, var):
    shutil.rmtree(var)
    var.write_text("I am a file")
    assert refused(serve(wait=False)) == f"error: cannot read {var}/secret_key: Not a directory"


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"VECTORSTEP_PORT": "80a"}, "VECTORSTEP_PORT must be a port from 1 to 65535, not '80a'"),
        ({"VECTORSTEP_CONFIG": "/nowhere/config.yaml"}, "VECTORSTEP_CONFIG names /nowhere/config.yaml"),
        ({"VECTORSTEP_HOST": "203.0.113.7"}, "cannot listen on 203.0.113.7"),
        ({"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}, "cannot use the database none"),
        ({"DATABASE_URL": "nonsense"}, "DATABASE_URL"),
    ],
)
def test_a_bad_setting_is_one_line(serve, extra: Mapping[str, str], expected: str):
    assert expected in refused(serve(wait=False, **extra))


def test_leftovers_of_a_killed_server_do_no_harm(serve, var):
    (var / "broker" / "celery").mkdir(parents=True, exist_ok=True)
    (var / "broker" / "celery" / "00000000000000000001-stale").write_text("not json at all")
    (var / "broker" / "celery" / ".00000000000000000001-half.123").write_text('{"body": ')
    os.utime(var / "broker" / "celery" / ".00000000000000000001-half.123", (0, 0))
    (var / "beat-schedule.dat").write_bytes(b"\x00garbage")
    (var / "beat-schedule").write_bytes(b"\x00garbage")
    process = serve()
    assert not (var / "broker" / "celery" / ".00000000000000000001-half.123").exists()
    wait_until(lambda: not list((var / "broker" / "celery").glob("0*")), what="the stale message being taken")
    assert "ended unexpectedly" not in process.log()


def test_web_only_starts_no_worker(serve):
    process = serve("--web-only")
    assert len(descendants(process.pid)) == 1
