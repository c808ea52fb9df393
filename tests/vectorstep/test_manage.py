"""manage.py in a folder where nothing is set up, or with settings that cannot be."""

import os
import subprocess
import sys
from pathlib import Path

from tests.services import ROOT


def manage(*arguments: str, var: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VECTORSTEP_", "DJANGO_"))}
    kept |= {"VECTORSTEP_VAR": str(var), "DATABASE_URL": f"sqlite:///{var}/db.sqlite3", **extra}
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, check=False)


def test_a_database_that_is_not_set_up_is_one_line(tmp_path):
    result = manage("token", "list", var=tmp_path)
    assert result.returncode == 1
    assert result.stderr == (
        "error: the database says: no such table: runs_token "
        "(script/server or `manage.py migrate` sets it up; --traceback shows more)\n"
    )
    assert "Traceback" in manage("token", "--traceback", "list", var=tmp_path).stderr


def test_a_python_without_the_packages_is_one_line():
    # -S leaves out site-packages: what the system's own Python finds.
    result = subprocess.run([sys.executable, "-S", "manage.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == (
        f"error: the packages VectorStep needs are not installed for {sys.executable} "
        "(use .venv/bin/python manage.py; script/server makes .venv)\n"
    )


def test_a_bad_configuration_is_one_line(tmp_path):
    (tmp_path / "config.yaml").write_text("limits: {payload_bytes: lots}")
    result = manage("check", var=tmp_path, VECTORSTEP_CONFIG=str(tmp_path / "config.yaml"))
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: {tmp_path}/config.yaml: limits.payload_bytes: ")
    assert result.stderr.count("\n") == 1
