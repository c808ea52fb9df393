"""script/server on a machine that has Python and nothing else: a fresh copy, a fresh environment."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services import ROOT, Process, answers, free_port, wait_until
from vectorstep.processes import descendants


def bare_environment(**extra: str) -> dict[str, str]:
    """What a login shell has, and how to reach the package index; nothing of this test run."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "HOME", "LANG"))}
    return {**kept, "PATH": "/usr/local/bin:/usr/bin:/bin", "VECTORSTEP_PYTHON": real_python(), **extra}


def real_python() -> str:
    """The Python this environment was made from."""
    return str(Path(sys.base_prefix) / "bin" / "python3")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project as a checkout would hold it: no environment, no var."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    target = tmp_path / "a fresh copy"  # with blanks, as folders of people have
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((ROOT / name).read_bytes())
            (target / name).chmod((ROOT / name).stat().st_mode)
    return target


@pytest.mark.timeout(400)
def test_a_fresh_copy_starts_with_one_command_and_stops_clean(copy, tmp_path):
    port = free_port()
    env = bare_environment(VECTORSTEP_PORT=str(port))
    first = Process([str(copy / "script/server")], name="first", folder=tmp_path, env=env, inherit=False, cwd=tmp_path)
    first.wait_for_line(f"is running at http://127.0.0.1:{port}/ui/", seconds=300)
    assert "Installing the packages in requirements.txt" in first.log()
    assert answers(f"http://127.0.0.1:{port}/health")
    assert (copy / "var" / "vectorstep.sqlite3").exists()
    below = descendants(first.pid)
    first.signal(signal.SIGINT)
    assert first.popen.wait(timeout=15) == 0, first.log()
    assert not any(Path(f"/proc/{pid}").exists() for pid in below)

    second = Process([str(copy / "script/server")], name="second", folder=tmp_path, env=env, inherit=False)
    second.wait_for_line("is running at", seconds=30)
    assert "Installing" not in second.log()
    second.signal(signal.SIGINT)
    wait_until(lambda: not second.running(), seconds=15, what="the second server ending")


def run_in_copy_of_scripts(tmp_path: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "script").mkdir()
    for name in ("bootstrap", "server"):
        (tmp_path / "script" / name).write_bytes((ROOT / "script" / name).read_bytes())
    env = bare_environment(**extra)
    return subprocess.run(["sh", "script/server"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)


def test_a_python_without_venv_is_told_what_to_install(tmp_path):
    """As on Debian, where ensurepip is a package of its own."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\nexec {real_python()} "$@"\n')
    python.chmod(0o755)
    result = run_in_copy_of_scripts(tmp_path, VECTORSTEP_PYTHON=str(python))
    assert result.returncode == 1
    assert result.stderr == (
        "error: this Python has no venv module; install it (Debian, Ubuntu: apt-get install "
        f"python{sys.version_info.major}.{sys.version_info.minor}-venv) and try again\n"
    )


def test_a_machine_without_python_is_told_so(tmp_path):
    result = run_in_copy_of_scripts(tmp_path, VECTORSTEP_PYTHON="/nowhere/python")
    assert result.returncode == 1
    assert result.stderr.startswith("error: Python 3.11 or newer is needed")
    assert result.stderr.count("\n") == 1


def test_packages_that_cannot_be_installed_are_shown(tmp_path):
    (tmp_path / "requirements.txt").write_text("no-such-package-of-vectorstep==1\n")
    result = run_in_copy_of_scripts(tmp_path, PIP_NO_INDEX="1")
    assert result.returncode == 1
    assert "no-such-package-of-vectorstep" in result.stderr
    assert result.stderr.endswith("error: could not install the packages in requirements.txt\n")
