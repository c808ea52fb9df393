import contextlib
import os
import sqlite3
import uuid
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from calibration.models import AgentVersion, Mark, PromptVersion, Sample, Tally
from calibration.resolving import resolve_all
from runs import books
from runs.importing.vectorstep import reading
from runs.models import Escalation, QueueItem, Run, RunEvent, Signal, Step
from runs.spending import Spent
from tests.runs.importing.other import OLD_TABLES, REPORT, TABLES, Other
from tests.runs.marked import label

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(tmp_path: Path) -> Other:
    return Other(tmp_path / "other.db")


@pytest.fixture
def bring_in(other: Other, capsys: Any) -> Any:
    """Imports the file; what was printed."""

    def run(*options: str) -> str:
        call_command("import_vectorstep", str(other.path), *options)
        return str(capsys.readouterr().out)

    return run


def test_a_run_is_here_with_its_step_log_sample_and_place_in_the_queue(other: Other, bring_in: Any) -> None:
    theirs = other.run()
    other.step(theirs)
    told = bring_in()
    assert "1 run with 1 step added; 0 runs were here already." in told
    assert "left out" not in told
    run, step = Run.objects.get(), Step.objects.get()
    assert (run.pipeline_name, run.status, run.team, run.stage) == ("checkout", "completed", "payments", "production")
    assert (run.summary, run.started_by) == ("Errors above 5 %", f"import of {theirs}")
    assert run.triggered_at == datetime(2026, 1, 2, 10, 0, 0, 500000, tzinfo=UTC)
    assert (step.agent, step.model, step.prompt_hash, step.agent_version) == ("gateway:sre", "m1", "abc", "v1")
    assert (step.raw_output, step.parsed_output) == ('{"confidence": 0.95}', {"confidence": 0.95})
    assert (step.duration_ms, step.input_tokens, step.agent_trace[0]["name"]) == (12000, 10, "q")
    sample = Sample.objects.get(pk=step.pk)
    assert (sample.confidence, sample.group, sample.bucket.step) == (0.95, run.pk, "assess")
    assert QueueItem.objects.get().step_id == step.pk
    line = RunEvent.objects.get()
    assert (line.level, line.kind, line.message) == ("warning", "begun", "assess begins")


def test_the_same_file_again_adds_only_what_is_new_in_it(other: Other, bring_in: Any) -> None:
    one = other.run()
    step = other.step(one)
    running = other.run(status="running")
    assert "1 run left out: it had not ended" in bring_in()
    assert "0 runs with 0 steps added; 1 run was here already." in bring_in()
    other.mark(step, "incorrect")
    other._connection.execute("UPDATE pipeline_runs SET status = 'completed' WHERE id = ?", [running])
    other._connection.commit()
    assert "1 run with 0 steps added; 1 run was here already." in bring_in()
    assert (Run.objects.count(), Sample.objects.count(), Mark.objects.count()) == (2, 1, 1)
    assert not QueueItem.objects.exists()
    assert "0 samples and 0 marks added" in bring_in()


def test_marks_on_steps_and_runs_label_as_everywhere(other: Other, bring_in: Any) -> None:
    run = other.run()
    other.mark(other.step(run, step_name="marked"), "partial", notes="half")
    other.step(run, step_name="failed", deterministic_passed=0)
    other.step(run, step_name="open")
    other.mark_run(run, "correct")
    bring_in("--by", "old marks")
    labels = {step.name: label(step.pk) for step in Step.objects.all()}
    assert labels == {"marked": (0.5, "step_mark"), "failed": (0.0, "failed_check"), "open": (1.0, "run_mark")}
    mark = Mark.objects.get(sample__isnull=False)
    assert (mark.by.username, mark.note, mark.made_at) == ("old marks", "half", datetime(2026, 1, 3, 9, tzinfo=UTC))
    assert (mark.via, mark.was_blind) == ("import", None)
    assert [one for progress in resolve_all(correct=False) for one in progress.differences] == []
    assert sum(Tally.objects.values_list("n", flat=True)) == 3


def test_the_trust_panel_explains_a_decision_of_theirs(other: Other, bring_in: Any, viewer: Client) -> None:
    other.step(
        other.run(status="escalated"), status="escalated", trust_report=REPORT, verifier_confidence=0.85,
        grounding_score=0.5, deterministic_passed=1, verifier_mode="reviewer", verifier_output='"It holds."',
        verifier_agent="gateway:critic", verifier_model="m2", grounding_model="m3", verifier_input_tokens=5,
    )  # fmt: skip
    bring_in()
    step = Step.objects.get()
    assert (step.combined_trust, step.trust_report["weakest"], step.confidence_threshold) == (0.5, "grounding", 0.75)
    calibration = step.trust_report["stages"][2]
    assert (calibration["enforced"], calibration["after"]) == (True, 0.62)
    signals = {signal.kind: signal for signal in Signal.objects.all()}
    assert (signals["verifier"].score, signals["verifier"].model, signals["verifier"].raw_output) == (
        0.85,
        "m2",
        "It holds.",
    )
    assert (signals["grounding"].detail["supported"], signals["grounding"].model) == (3, "m3")
    assert (signals["check"].passed, signals["check"].duration_ms) == (True, 20)
    html = viewer.get(reverse("ui-run", args=[step.run_id])).content.decode()
    assert '<span class="big">50%</span>' in html
    assert "3 of 6 backed" in html
    assert "7.9" in html  # what the check printed


def test_calibration_that_only_watched_is_told_from_one_that_was_enforced(other: Other, bring_in: Any) -> None:
    other.step(other.run(), trust_report=REPORT | {"combined_trust": 0.95, "grounding": {}, "signals": {"S": 0.95}})
    bring_in()
    stage = Step.objects.get().trust_report["stages"][2]
    assert (stage["enforced"], stage["reason"]) == (False, "advisory")


def test_a_trust_that_the_formula_does_not_give_is_kept_without_a_report(
    other: Other, bring_in: Any, viewer: Client
) -> None:
    other.step(other.run(), trust_report=REPORT | {"combined_trust": 0.33})
    assert "1 step is shown without a trust report" in bring_in()
    step = Step.objects.get()
    assert (step.trust_report, step.combined_trust) == (None, 0.33)
    html = viewer.get(reverse("ui-run", args=[step.run_id])).content.decode()
    assert "It was 95% sure of its answer and trusted 33%. How that was decided is not recorded here." in html


def test_a_file_of_the_first_releases_comes_in(tmp_path: Path, capsys: Any) -> None:
    other = Other(tmp_path / "old.db", OLD_TABLES)
    step = other.step(other.run())
    other.mark(step)
    call_command("import_vectorstep", str(other.path))
    assert "1 run with 1 step added" in capsys.readouterr().out
    assert (Run.objects.get().stage, Step.objects.get().agent) == ("production", "")
    assert label(Step.objects.get().pk) == (1.0, "step_mark")


def test_a_replay_and_the_branches_of_a_fan_out(other: Other, bring_in: Any) -> None:
    other.step(other.run(replay_of={"run": "x"}, stage="testing"))
    fan = other.run()
    for number in range(2):
        other.step(fan, step_name=f"each/{number}")
    other.step(fan, step_name="both/left")
    bring_in()
    assert Sample.objects.get(bucket__step="assess").is_replay
    assert sorted(Sample.objects.values_list("bucket__step", flat=True)) == ["assess", "both/left", "each", "each"]


def test_versions_enter_the_registry_for_every_step_that_used_them(other: Other, bring_in: Any) -> None:
    run = other.run()
    other.step(run, step_name="assess")
    other.step(run, step_name="again", executed_at="2026-02-02 10:00:13")
    seen = {"first_seen_at": "2026-01-01 00:00:00", "last_seen_at": "2026-01-31 00:00:00"}
    other.add("step_prompt_versions", prompt_hash="abc", step_name="assess", template="Assess {{ x }}", **seen)
    other.add("agent_version_snapshots", agent_version="v1", agent="sre", soul_md="Be calm.", agent_yaml="a: 1", **seen)
    assert "2 versions of prompts and 1 of agents added." in bring_in()
    assert sorted(PromptVersion.objects.values_list("step", "prompt_hash", "first_seen__month")) == [
        ("again", "abc", 2),
        ("assess", "abc", 1),
    ]
    agent = AgentVersion.objects.get()
    assert (agent.agent, agent.soul, agent.config, agent.last_seen.day) == ("gateway:sre", "Be calm.", "a: 1", 31)
    assert "0 versions of prompts and 0 of agents added." in bring_in()


def test_a_version_known_here_is_seen_from_the_earliest_to_the_latest(other: Other, bring_in: Any) -> None:
    early, late = datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 15, tzinfo=UTC)
    AgentVersion.objects.create(agent="sre", version="v1", note="no text", first_seen=early, last_seen=late)
    other.add(
        "agent_version_snapshots", agent_version="v1", agent="sre", soul_md="Be calm.",
        first_seen_at="2026-01-01", last_seen_at="2026-01-31",
    )  # fmt: skip
    bring_in()
    agent = AgentVersion.objects.get()
    assert (agent.first_seen, agent.last_seen.day, agent.soul, agent.note) == (early, 31, "Be calm.", "")


@pytest.mark.parametrize(
    ("table", "change", "told"),
    [
        ("run", {"status": "running"}, "1 run left out: it had not ended (first: "),
        ("run", {"status": "odd"}, "1 run left out: 'odd' is no status that is known"),
        ("run", {"triggered_at": "soon"}, "1 run left out: it has no time"),
        ("run", {"triggered_at": None}, "1 run left out: it has no time"),
        ("run", {"id": None}, "1 run left out: it has no id"),
        ("run", {"pipeline_name": ""}, "1 run left out: pipeline: expected a printable name"),
        ("step", {"status": "running"}, "1 step left out: it had not ended"),
        ("step", {"status": "odd"}, "1 step left out: 'odd' is no status that is known"),
        ("step", {"step_name": "x" * 201}, "1 step left out: name: String should have at most 200 characters"),
        ("step", {"step_name": None}, "1 step left out: name: expected a printable name"),
        ("step", {"run_id": "nowhere"}, "1 step left out: its run is not in the file"),
        ("step", {"primary_confidence": 1.5}, "1 confidence left out: it is no number from 0 to 1"),
        ("step", {"primary_confidence": "high"}, "1 confidence left out: it is no number from 0 to 1"),
        ("mark", {"outcome": "good"}, "1 step mark left out: 'good' is no outcome"),
        ("mark", {"step_id": "nowhere"}, "1 step mark left out: its step is not in the file"),
        ("run", {"triggered_at": "2900-01-01"}, "1 run left out: triggered_at: the time is in the future"),
        ("run", {"completed_at": "2900-01-01"}, "1 run left out: completed_at: the time is in the future"),
        ("step", {"executed_at": "2900-01-01"}, "1 step left out: started_at: the time is in the future"),
        ("mark", {"submitted_at": "2900-01-01"}, "1 step mark left out: its time is in the future"),
    ],
)
def test_what_is_left_out_is_told_with_the_reason(
    other: Other, bring_in: Any, table: str, change: dict[str, Any], told: str
) -> None:
    good = other.run()
    other.step(good, step_name="good")
    if table == "run":
        other.run(**change)
    elif table == "step":
        other.step(good, **change)
    else:
        other.mark(other.step(good), **change)
    assert told in bring_in()
    assert Step.objects.filter(name="good").exists()


def test_log_lines_and_versions_of_the_future_are_left_out_by_their_row(other: Other, bring_in: Any) -> None:
    lines = [{"ts": f"{year}-01-02T10:00:00Z", "msg": str(year)} for year in (2026, 2900, 2901)]
    other.step(other.run(logs=lines))
    seen = {"first_seen_at": "2026-01-01", "last_seen_at": "2900-01-01"}
    other.add("step_prompt_versions", prompt_hash="abc", step_name="later", template="t", **seen)
    other.add("agent_version_snapshots", agent_version="v2", agent="sre", soul_md="s", **seen)
    told = bring_in()
    assert "2 log lines left out: its time is in the future" in told
    assert "1 prompt version left out: its time is in the future (first: abc)" in told
    assert "1 agent version left out: its time is in the future (first: v2)" in told
    assert [line.message for line in RunEvent.objects.all()] == ["2026"]
    assert not PromptVersion.objects.filter(step="later").exists()
    assert not AgentVersion.objects.exists()


def test_of_steps_with_one_name_the_last_counts(other: Other, bring_in: Any) -> None:
    run = other.run()
    other.step(run, primary_confidence=0.2, effective_confidence=0.2)
    other.step(run, step_index=1)
    assert "1 step left out: another of its name came later in the run" in bring_in()
    assert Step.objects.get().primary_confidence == 0.95


def test_an_interrupted_run_failed(other: Other, bring_in: Any) -> None:
    other.run(status="interrupted")
    bring_in()
    assert (Run.objects.get().status, Run.objects.get().reason) == ("failed", "It was interrupted where it came from.")


def test_an_escalated_run_asks_nobody_here(other: Other, bring_in: Any) -> None:
    other.step(other.run(status="escalated"), status="escalated")
    bring_in()
    run = Run.objects.get()
    assert (run.status, run.wake_at) == ("escalated", None)
    assert run.reason == "It waited for a person where it came from; here nobody is asked about it."
    assert not Escalation.objects.exists()


def test_cells_that_hold_anything_else_are_taken_for_nothing(other: Other, bring_in: Any) -> None:
    run = other.run(normalised_context="[", raw_payload=b"\xff", logs='{"a": 1}', completed_at="later", team=7)
    other.step(
        run, trust_report="[" * 50_000, parsed_output="NaN", agent_trace='"x"', prompt=b"\xff\x00", duration_ms=-5,
        input_tokens="many", model="m" * 5_000, raw_output="plain text",
    )  # fmt: skip
    other.step(
        run, step_name="odd", trust_report={"signals": [], "gate": 5, "grounding": {"claims": [1, {"claim": {}}]}}
    )
    assert "1 run with 2 steps added" in bring_in()
    step = Step.objects.get(name="assess")
    assert (step.duration_ms, step.input_tokens, step.raw_output, step.agent_trace) == (None, None, "plain text", None)
    assert len(step.model.encode()) <= 200
    assert Run.objects.get().team == "7"


def test_history_keeps_its_cost_and_what_has_none_stays_unpriced(other: Other, bring_in: Any) -> None:
    run = other.run()
    for name, cost in {
        "a": 0.1,
        "b": 2,
        "c": None,
        "d": "free",
        "e": -1,
        "f": float("inf"),
        "g": 1e-9,
        "h": 1e12,
    }.items():
        other.step(run, step_name=name, cost=cost)

    bring_in()
    bring_in()  # adds nothing

    known = {"a": 100_000_000, "b": 2_000_000_000, "g": 1}
    assert dict(Step.objects.values_list("name", "cost_nanos")) == {**dict.fromkeys("abcdefgh"), **known}
    brought = Run.objects.get()
    assert (brought.tokens, brought.cost_nanos, brought.steps_unpriced) == (240, 2_100_000_001, 5)
    assert books.by_day(since=date(2026, 1, 1)) == {date(2026, 1, 2): Spent(8, 240, 0, 2_100_000_001, 5)}


def test_many_runs_come_in_by_batches_and_it_tells_how_far_it_is(other: Other, capsys: Any) -> None:
    for number in range(230):
        other.step(other.run(), step_name=f"step-{number}")
    call_command("import_vectorstep", str(other.path))
    printed = capsys.readouterr()
    assert "230 runs with 230 steps added" in printed.out
    assert [line for line in printed.err.splitlines() if line][-1] == "Importing 100 %"


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00 but no more", b"outcome,note\n"])
def test_a_file_that_is_no_database_of_a_vectorstep_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / f"{uuid.uuid4()}.db"
    file.write_bytes(content)
    with pytest.raises(CommandError, match="cannot be imported"):
        call_command("import_vectorstep", str(file))
    assert file.read_bytes() == content


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    place.mkdir() if kind == "folder" else os.mkfifo(place)
    with pytest.raises(CommandError, match="cannot be imported: it is no file"):
        call_command("import_vectorstep", str(place))


def test_views_in_place_of_tables_are_refused(tmp_path: Path) -> None:
    """One may have rows without end, or without the numbers by which rows are read."""
    path = tmp_path / "views.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for table, columns in TABLES.items():
            values = ", ".join(f"n AS {name}" for name in columns)
            endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
            connection.execute(f"CREATE VIEW {table} AS {endless} SELECT {values}, n AS rowid FROM r")
    with pytest.raises(CommandError, match="it has not pipeline_runs"):
        call_command("import_vectorstep", str(path))


def test_a_cell_that_no_database_takes_leaves_out_its_row_alone(
    other: Other, bring_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CELL_CHARS", 1_000)
    run = other.run()
    other.step(run, raw_output="x" * 1_001)
    other.step(run, step_name="good", raw_output="x" * 1_000)
    other.run(raw_payload="x" * 1_001)
    out = bring_in()
    assert "1 step left out: its raw_output is longer than 1,000 characters" in out
    assert "1 run left out: its raw_payload is longer than 1,000 characters" in out
    assert Step.objects.get().name == "good"


def test_what_a_file_says_cannot_steer_the_terminal_nor_flood_it(other: Other, bring_in: Any) -> None:
    other.run(id="\x1b[2J" + "x" * 1_000, status="running")
    for number in range(60):
        other.run(status=f"odd{number}")
    out = bring_in()
    assert f"(first: \\x1b[2J{'x' * 56}…)" in out
    assert "11 more left out, for other reasons" in out


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Cannot read"):
        call_command("import_vectorstep", str(tmp_path / "none.db"))
    assert not (tmp_path / "none.db").exists()


def test_the_file_is_only_read(other: Other, bring_in: Any) -> None:
    other.step(other.run())
    before = other.path.read_bytes()
    bring_in()
    assert other.path.read_bytes() == before


@pytest.mark.parametrize("name", ["", "x" * 151, "a\nb"])
def test_whose_marks_they_become_must_be_a_name(other: Other, name: str) -> None:
    with pytest.raises(CommandError, match="--by"):
        call_command("import_vectorstep", str(other.path), "--by", name)
