import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from calibration.models import Mark
from tests.runs.marked import label, markable, said

pytestmark = pytest.mark.django_db


def run(*arguments: Any) -> None:
    call_command("marks", *map(str, arguments))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "marks.jsonl"


def test_what_was_exported_is_imported(file: Path, capsys: Any) -> None:
    step = markable()
    file.write_text(json.dumps({"step_id": str(step.id), "outcome": "partial", "note": "=1", "marker": "anna"}) + "\n")
    run("import", file)
    out = capsys.readouterr().out
    assert "1 line: 1 mark added, 0 known already." in out
    assert "1 label changed." in out
    assert "Accounts that cannot sign in made for anna." in out
    assert label(step.id) == (0.5, "step_mark")
    table = file.with_suffix(".csv")
    run("export", table)
    assert "'=1" in table.read_text()
    run("import", table)
    assert "0 marks added, 1 known already." in capsys.readouterr().out


def test_a_dry_run_only_tells(file: Path, capsys: Any) -> None:
    step = markable()
    file.write_text(json.dumps({"step_id": str(step.id), "outcome": "correct"}))
    run("import", "--dry-run", file)
    assert "1 mark would be added" in capsys.readouterr().out
    assert not Mark.objects.exists()


def test_one_bad_line_and_nothing_is_imported(file: Path, capsys: Any) -> None:
    good = {"step_id": str(markable().id), "outcome": "correct"}
    file.write_text("".join(json.dumps(row) + "\n" for row in (good, {"outcome": "correct"})))
    with pytest.raises(CommandError, match="1 of 2 lines cannot be used; nothing was imported"):
        run("import", file)
    assert "line 2: names neither a run_id nor a step_id" in capsys.readouterr().out
    assert not Mark.objects.exists()


def test_a_mark_without_a_marker_is_said_by_whom_one_names(file: Path) -> None:
    step = markable()
    file.write_text(json.dumps({"step_id": str(step.id), "outcome": "correct"}))
    run("import", "--by", "spreadsheet", file)
    assert said() == [("spreadsheet", "correct", True)]


def test_standard_output_takes_the_form_one_names(capfdbinary: Any) -> None:
    markable()
    run("export", "-", "--form", "csv")
    assert capfdbinary.readouterr().out.startswith(b"run_id,pipeline,step_id")


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("marks.xlsx", b"PK", "ends in .csv or .jsonl"),
        ("marks.csv", b"\xff\xfe", "line 1: not UTF-8"),
        ("missing.csv", None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str, content: Any, complaint: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CommandError) as raised:
        run("import", tmp_path / name)
    assert complaint in str(raised.value)


def test_a_pipe_is_refused_at_once_since_it_can_be_read_only_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "marks.csv")
    with pytest.raises(CommandError, match="is no file"):
        run("import", tmp_path / "marks.csv")
