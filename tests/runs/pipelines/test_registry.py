"""Reloading pipelines from files, and finding the versions that run."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from runs.models import Pipeline, PipelineVersion
from runs.pipelines import registry

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)

pytestmark = pytest.mark.django_db


def test_a_new_file_becomes_a_pipeline_that_runs(folder, write):
    write("a.yaml", "alpha")
    report = registry.reload(now=NOW)
    assert report.loaded == report.changed == ["a.yaml"]
    assert registry.names() == ["alpha"]
    version = registry.current("alpha")
    assert registry.parsed(version).steps[0].executor_config == {"command": ["ls"]}
    assert registry.current("beta") is None
    assert Pipeline.objects.get().changed_at == NOW


def test_reloading_the_same_files_changes_nothing(folder, write):
    write("a.yaml", "alpha")
    registry.reload(now=NOW)
    assert registry.reload(now=LATER).changed == []
    row = Pipeline.objects.get()
    assert (row.loaded_at, row.changed_at) == (LATER, NOW)
    assert PipelineVersion.objects.count() == 1


def test_a_broken_file_keeps_its_last_good_version_and_leaves_the_others_alone(folder, write):
    write("a.yaml", "alpha")
    write("b.yaml", "beta")
    registry.reload(now=NOW)
    good = registry.current("alpha").digest
    (folder / "a.yaml").write_text("name: alpha\nsteps: 3\n")
    write("b.yaml", "beta", "id")
    report = registry.reload(now=LATER)
    assert [str(problem) for problem in report.problems] == ["a.yaml:2: steps: expected a list, found a number (3)"]
    assert registry.current("alpha").digest == good
    assert report.changed == ["b.yaml"]
    row = Pipeline.objects.get(file="a.yaml")
    assert row.errors == [
        {"file": "a.yaml", "line": 2, "field": "steps", "message": "expected a list, found a number (3)"}
    ]
    write("a.yaml", "alpha")
    registry.reload(now=LATER)
    assert Pipeline.objects.get(file="a.yaml").errors == []


def test_a_file_broken_from_the_start_is_shown_but_cannot_run(folder, write):
    (folder / "a.yaml").write_text("name: [")
    registry.reload(now=NOW)
    assert registry.names() == []
    row = Pipeline.objects.get()
    assert row.version is None
    assert row.name == "a"
    assert row.errors[0]["line"] >= 1


def test_a_removed_file_is_absent_and_comes_back(folder, write):
    write("a.yaml", "alpha")
    registry.reload(now=NOW)
    (folder / "a.yaml").unlink()
    assert registry.reload(now=LATER).removed == ["a.yaml"]
    assert registry.current("alpha") is None
    assert registry.reload(now=LATER).removed == []
    write("a.yaml", "alpha")
    assert registry.reload(now=LATER).changed == ["a.yaml"]
    assert registry.names() == ["alpha"]


def test_the_second_file_with_a_name_is_refused_naming_both(folder, write):
    write("a.yaml", "same")
    write("b.yaml", "same", "id")
    report = registry.reload(now=NOW)
    assert [str(problem) for problem in report.problems] == [
        "b.yaml:1: name: the name 'same' is already used by a.yaml"
    ]
    assert registry.parsed(registry.current("same")).steps[0].executor_config == {"command": ["ls"]}


def test_the_file_that_has_a_name_keeps_it_against_an_earlier_one(folder, write):
    write("b.yaml", "same")
    registry.reload(now=NOW)
    write("a.yaml", "same", "id")
    report = registry.reload(now=LATER)
    assert [problem.file for problem in report.problems] == ["a.yaml"]
    (folder / "b.yaml").write_text("name: same\nsteps: 3\n")
    assert {problem.file for problem in registry.reload(now=LATER).problems} == {"a.yaml", "b.yaml"}
    (folder / "b.yaml").unlink()
    assert registry.reload(now=LATER).problems == []
    assert Pipeline.objects.get(present=True, name="same").file == "a.yaml"


def test_two_files_may_swap_names(folder, write):
    write("a.yaml", "x")
    write("b.yaml", "y", "id")
    registry.reload(now=NOW)
    write("a.yaml", "y")
    write("b.yaml", "x", "id")
    assert registry.reload(now=LATER).problems == []
    assert dict(Pipeline.objects.values_list("file", "name")) == {"a.yaml": "y", "b.yaml": "x"}


def test_a_file_that_returns_broken_does_not_take_its_old_name_back(folder, write):
    write("a.yaml", "alpha")
    registry.reload(now=NOW)
    (folder / "a.yaml").unlink()
    registry.reload(now=NOW)
    write("b.yaml", "alpha", "id")
    (folder / "a.yaml").write_text("name: alpha\nsteps: 3\n")
    assert registry.reload(now=LATER).changed == ["b.yaml"]
    assert Pipeline.objects.get(file="a.yaml").version is None


def test_a_renamed_file_moves_its_pipeline(folder, write):
    write("a.yaml", "alpha")
    registry.reload(now=NOW)
    (folder / "a.yaml").rename(folder / "z.yaml")
    report = registry.reload(now=LATER)
    assert (report.removed, report.problems) == (["a.yaml"], [])
    assert registry.names() == ["alpha"]
    assert PipelineVersion.objects.count() == 1


def test_versions_come_in_file_order(folder, write):
    write("2.yaml", "alpha")
    write("1.yaml", "omega")
    registry.reload(now=NOW)
    assert [version.name for version in registry.current_all()] == ["omega", "alpha"]


def test_a_version_that_was_seen_needs_no_query(folder, write, django_assert_num_queries):
    write("a.yaml", "alpha")
    registry.reload(now=NOW)
    version = registry.current("alpha")
    first = registry.parsed(version)
    with django_assert_num_queries(0):
        assert registry.parsed(version) is first
        assert registry.parsed(version.digest) is first
    with django_assert_num_queries(1):
        registry.current("alpha")
    with django_assert_num_queries(1):
        registry.current_all()


def test_a_run_keeps_the_version_it_started_with(folder, write):
    write("a.yaml", "alpha")
    registry.reload(now=NOW)
    old = registry.current("alpha")
    write("a.yaml", "alpha", "id")
    registry.reload(now=LATER)
    assert registry.current("alpha").digest != old.digest
    assert registry.parsed(old.digest).steps[0].executor_config == {"command": ["ls"]}


def test_a_directory_that_is_not_there_is_told_and_takes_nothing_away(folder, write):
    write("a.yaml", "alpha")
    registry.reload(now=NOW)
    folder.rename(folder.with_name("elsewhere"))
    report = registry.reload(now=LATER)
    assert [str(problem) for problem in report.problems] == [
        f"{folder}: there is no such folder; VECTORSTEP_PIPELINES says where the pipelines are"
    ]
    assert (report.loaded, report.changed, report.removed) == ([], [], [])
    assert registry.current("alpha") is not None


def test_equal_content_has_one_address_whatever_its_spelling(folder, write):
    write("a.yaml", "alpha")
    registry.reload(now=NOW)
    digest = registry.current("alpha").digest
    (folder / "a.yaml").write_text(
        'steps: [{executor: command, name: "one", confidence_threshold: 0.75, '
        "executor_config: {command: [ls]}}]\n# a comment\nname: alpha\n"
    )
    assert registry.reload(now=LATER).changed == []
    assert registry.current("alpha").digest == digest


@pytest.mark.django_db(transaction=True)
def test_reloads_at_once_do_not_disturb_each_other(folder, write):
    for number in range(5):
        write(f"{number}.yaml", f"p{number}")
    failed: list[BaseException] = []

    def work() -> None:
        try:
            registry.reload(now=NOW)
        except BaseException as error:
            failed.append(error)
            raise
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sorted(registry.names()) == [f"p{number}" for number in range(5)]
