"""manage.py validate and manage.py reload."""

import subprocess
import sys

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command

from runs.models import Pipeline


def validate(capsys, *files, code=0):
    if code:
        with pytest.raises(CommandError) as left:
            call_command("validate", *map(str, files))
        assert left.value.returncode == code
    else:
        call_command("validate", *map(str, files))
    return capsys.readouterr().out


def test_validate_says_good_and_needs_no_database(folder, write, capsys):
    write("a.yaml", "alpha")
    out = validate(capsys, folder / "a.yaml")
    assert out.startswith(f"{folder}/a.yaml: good: alpha, 1 step, version ")


def test_validate_prints_each_problem_with_its_place_and_fails(folder, write, capsys):
    write("a.yaml", "alpha")
    (folder / "b.yaml").write_text("name: beta\nstage: live\nsteps: []\n")
    out = validate(capsys, folder / "a.yaml", folder / "b.yaml", code=1)
    assert f"{folder}/b.yaml:2: stage: must be one of testing, production, found text ('live')\n" in out
    assert f"{folder}/b.yaml:3: steps: " in out
    assert "a.yaml: good" in out


def test_validate_sees_the_names_of_the_other_files(folder, write, capsys, tmp_path):
    write("a.yaml", "alpha")
    write("b.yaml", "alpha")
    out = validate(capsys, folder / "b.yaml", code=1)
    assert "b.yaml:1: name: the name 'alpha' is already used by a.yaml" in out


def test_validate_of_a_missing_file_is_a_problem_not_a_traceback(folder, capsys):
    assert "nowhere.yaml: cannot be read: No such file or directory" in validate(capsys, "nowhere.yaml", code=1)


def test_validate_without_files_takes_the_directory(folder, write, capsys):
    write("a.yaml", "alpha")
    write("b.yml", "beta")
    assert validate(capsys).count(": good: ") == 2


def test_validate_takes_every_file_of_a_folder(folder, write, capsys):
    write("a.yaml", "alpha")
    write("b.yml", "beta")
    assert validate(capsys, folder).splitlines()[1].startswith(f"{folder}/b.yml: good: beta")
    (folder.parent / "empty").mkdir()
    with pytest.raises(CommandError, match=r"there is no pipeline file in .*/empty"):
        call_command("validate", str(folder.parent / "empty"))


def test_validate_runs_where_no_database_can_be_reached(folder, write):
    write("a.yaml", "alpha")
    done = subprocess.run(
        [sys.executable, "manage.py", "validate", folder / "a.yaml"],
        cwd=django_settings.BASE_DIR,
        env={"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "VECTORSTEP_VAR": str(folder.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ": good: alpha" in done.stdout


@pytest.mark.django_db
def test_reload_tells_what_changed(folder, write, capsys):
    write("a.yaml", "alpha")
    (folder / "b.yaml").write_text("name: beta\n")
    with pytest.raises(CommandError) as left:
        call_command("reload")
    assert left.value.returncode == 1
    assert capsys.readouterr().out.splitlines() == [
        "b.yaml:1: steps: is required",
        "a.yaml: loaded",
        "1 good, 1 new or changed, 0 removed, 1 with problems",
    ]
    (folder / "b.yaml").unlink()
    call_command("reload")
    assert capsys.readouterr().out.splitlines() == [
        "b.yaml: removed",
        "1 good, 0 new or changed, 1 removed, 0 with problems",
    ]
    assert Pipeline.objects.filter(present=True).count() == 1
