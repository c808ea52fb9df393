import io
import itertools
import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from calibration import buckets
from calibration.buckets import BucketKey
from calibration.models import PromptVersion, Sample, Tally
from calibration.resolving import resolve_all
from runs.importing import jsonl, records
from runs.models import QueueItem, Run, Signal, Step
from tests import factories
from tests.runs.importing.told import WORKED_EXAMPLE, a_mark, a_run, a_step, written
from tests.runs.marked import label, said

pytestmark = pytest.mark.django_db


def bring_in(folder: Path, *rows: Any, options: Any = ()) -> None:
    call_command("import_history", str(written(folder, *rows)), *options)


def test_a_run_is_there_with_its_step_sample_and_place_in_the_queue(tmp_path: Path) -> None:
    bring_in(tmp_path, a_run(summary="Errors above 5 %", team="payments", context={"service": "checkout"}))
    run = Run.objects.get()
    assert (run.pipeline_name, run.status, run.stage, run.team) == ("checkout", "completed", "production", "payments")
    assert (run.started_by, run.context) == ("import of one", {"service": "checkout"})
    assert run.triggered_at == datetime(2026, 1, 2, 10, 0, tzinfo=UTC)
    step = Step.objects.get()
    assert (step.name, step.status, step.effective_confidence, step.duration_ms) == ("assess", "completed", 0.95, 12000)
    sample = Sample.objects.get(pk=step.pk)
    assert (sample.group, sample.confidence, sample.stage, sample.label) == (run.pk, 0.95, "production", None)
    assert sample.observed_at == datetime(2026, 1, 2, 10, 0, 13, tzinfo=UTC)
    assert QueueItem.objects.get().step_id == step.pk


def test_imported_runs_stand_among_the_others_by_their_time(tmp_path: Path) -> None:
    today = factories.run()
    bring_in(
        tmp_path,
        a_run("old", triggered_at="2026-01-01T00:00:00Z"),
        a_run("older", triggered_at="2025-12-31T23:59:59+01:00"),
    )
    newest = Run.objects.order_by("-id").values_list("started_by", flat=True)
    assert list(newest) == [today.started_by, "import of old", "import of older"]


def test_the_same_file_again_adds_nothing_but_what_was_said_since(tmp_path: Path, capsys: Any) -> None:
    bring_in(tmp_path, a_run())
    bring_in(tmp_path, a_run())
    assert "0 runs with 0 steps added; 1 run was here already." in capsys.readouterr().out
    assert (Run.objects.count(), Sample.objects.count(), QueueItem.objects.count()) == (1, 1, 1)
    bring_in(tmp_path, a_run(steps=[a_step(marks=[a_mark("incorrect")])]))
    assert said() == [("anna", "incorrect", True)]
    assert label(Step.objects.get().pk) == (0.0, "step_mark")
    assert not QueueItem.objects.exists()


def test_labels_follow_the_same_rules_as_everywhere(tmp_path: Path) -> None:
    steps = [
        a_step(name="marked", marks=[a_mark("correct"), a_mark("partial", marker="otto")]),
        a_step(name="failed", checks=[{"name": "c", "passed": False}]),
        a_step(name="open"),
    ]
    bring_in(tmp_path, a_run(steps=steps, marks=[a_mark("incorrect")]))
    labels = {step.name: label(step.pk) for step in Step.objects.all()}
    assert labels == {"marked": (0.75, "step_mark"), "failed": (0.0, "failed_check"), "open": (0.0, "run_mark")}
    assert [one for progress in resolve_all(correct=False) for one in progress.differences] == []
    assert sum(Tally.objects.values_list("n", flat=True)) == 3


def test_the_gate_counts_an_imported_record_at_once(tmp_path: Path) -> None:
    runs = [a_run(f"run-{n}", steps=[a_step(marks=[a_mark("correct" if n < 15 else "incorrect")])]) for n in range(20)]
    bring_in(tmp_path, *runs)
    key = BucketKey("assess", "command:assess", "m1", "p1", "abc")
    evidence = buckets.lookup(key, 0.91, n_min=20, bin_width=0.1)
    assert (evidence.n, evidence.accuracy, evidence.validated) == (20, 0.75, True)


def test_the_trust_panel_explains_an_imported_decision(tmp_path: Path, viewer: Client) -> None:
    bring_in(tmp_path, a_run(status="escalated", steps=[WORKED_EXAMPLE]))
    step = Step.objects.get()
    assert (step.combined_trust, step.trust_report["weakest"]) == (0.5, "grounding")
    assert sorted(Signal.objects.values_list("kind", flat=True)) == ["check", "grounding", "verifier"]
    html = viewer.get(reverse("ui-run", args=[step.run_id])).content.decode()
    assert '<span class="big">50%</span>' in html
    assert "3 of 6 backed" in html
    assert viewer.get(reverse("ui-pipeline", args=["checkout"])).status_code == 200


@pytest.mark.parametrize("wrong", [{"trust": 0.6}, {"confidence_after_verifier": 0.9}])
def test_numbers_that_do_not_give_the_recorded_trust_are_kept_without_a_report(
    tmp_path: Path, capsys: Any, wrong: dict[str, float]
) -> None:
    bring_in(tmp_path, a_run(steps=[WORKED_EXAMPLE | wrong]))
    step = Step.objects.get()
    assert step.trust_report is None
    assert (step.primary_confidence, step.grounding_score, step.confidence_threshold) == (0.95, 0.5, 0.75)
    assert "1 step is shown without a trust report" in capsys.readouterr().out


def test_a_template_enters_the_history_of_prompts(tmp_path: Path) -> None:
    early, late = "2026-01-02T10:00:13Z", "2026-02-02T10:00:13Z"
    steps = [a_step(prompt_hash="", prompt_template="Assess {{ summary }}", completed_at=at) for at in (late, early)]
    bring_in(tmp_path, *[a_run(f"run-{n}", steps=[step]) for n, step in enumerate(steps)])
    version = PromptVersion.objects.get()
    assert (version.first_seen.month, version.last_seen.month) == (1, 2)
    assert set(Step.objects.values_list("prompt_hash", flat=True)) == {version.prompt_hash}


def test_what_has_no_confidence_is_no_sample_and_a_mark_on_it_is_told(tmp_path: Path, capsys: Any) -> None:
    bring_in(tmp_path, a_run(steps=[a_step(name="notify", confidence=None, marks=[a_mark()])]))
    assert not Sample.objects.exists()
    assert "1 mark left out: their step has no confidence" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "should be an object"),
        ("[" * 50_000, "not JSON"),
        ({"id": "one"}, "pipeline: Field required"),
        (a_run(id=""), "id: String should have at least 1 character"),
        (a_run(**{"\x1b[2J": 1}), "\\x1b[2J: Extra inputs are not permitted"),
        (a_run(extra=1), "extra: Extra inputs are not permitted"),
        (a_run(status="running"), "status: Input should be"),
        (a_run(triggered_at="soon"), "triggered_at: Input should be a valid datetime"),
        (a_run(triggered_at=5), "triggered_at:"),
        (a_run(triggered_at="0001-01-01T00:00:00+14:00"), "triggered_at: expected a time of the years"),
        (a_run(triggered_at="9999-12-31T23:59:59Z"), "triggered_at: expected a time of the years"),
        (a_run(triggered_at="1969-12-31T23:59:59Z"), "triggered_at: expected a time of the years"),
        (a_run(steps=[a_step(), a_step()]), "two steps have the same name"),
        (a_run(steps=[a_step(confidence=1.5)]), "steps[0].confidence: Input should be less than or equal to 1"),
        (a_run(steps=[a_step(confidence="0.5")]), "steps[0].confidence: Input should be a valid number"),
        (a_run(steps=[a_step(confidence=True)]), "steps[0].confidence: Input should be a valid number"),
        (a_run(steps=[a_step(confidence=float("nan"))]), "steps[0].confidence: Input should be"),
        (a_run(steps=[a_step(name="a\tb")]), "steps[0].name: expected a printable name"),
        (a_run(steps=[a_step(name="x" * 201)]), "steps[0].name: String should have at most 200 characters"),
        (a_run(steps=[a_step(marks=[a_mark("good")])]), "steps[0].marks[0].outcome: Input should be 'correct'"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_the_others_come_in(
    tmp_path: Path, capsys: Any, row: Any, reason: str
) -> None:
    with pytest.raises(CommandError, match="1 line left out"):
        bring_in(tmp_path, a_run("good"), "", row)
    assert Run.objects.get().started_by == "import of good"
    out = capsys.readouterr().out
    assert "line 3: " in out
    assert reason in out


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_a_file_in_another_encoding_is_refused_whole(tmp_path: Path, capsys: Any, encoding: str) -> None:
    file = tmp_path / "history.jsonl"
    rows = "\n".join(json.dumps(a_run(name, summary="é"), ensure_ascii=False) for name in ("one", "two"))
    file.write_bytes(rows.encode(encoding))
    with pytest.raises(CommandError, match="2 lines left out"):
        call_command("import_history", str(file))
    assert not Run.objects.exists()
    assert encoding == "utf-16-le" or "line 1: not UTF-8 (byte" in capsys.readouterr().out


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    rows = written(tmp_path, *[a_run(f"run-{n}") for n in range(101)]).read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(rows,))
    writer.start()
    call_command("import_history", str(pipe))
    writer.join()
    assert Run.objects.count() == 101


def test_hostile_texts_are_stored_so_that_a_database_takes_them(tmp_path: Path) -> None:
    row = a_run(
        payload={"a\x00": "\ud800", "big": 10**400},
        steps=[a_step(prompt="x\x00", answer="\ud800", output={"n": 1e400}, trace=["\x00"], error="\x00" * 3000)],
    )
    bring_in(tmp_path, row)
    step = Step.objects.get()
    assert (step.prompt, step.raw_output, step.agent_trace) == ("x\\u0000", "\\ud800", ["\\u0000"])
    assert (step.parsed_output, len(step.error)) == ({"n": "inf"}, 2_001)
    assert Run.objects.get().payload["a\\u0000"] == "\\ud800"


def test_checking_stores_nothing(tmp_path: Path, capsys: Any) -> None:
    bring_in(tmp_path, a_run(), options=["--check"])
    assert "1 run can be read." in capsys.readouterr().out
    assert not Run.objects.exists()


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Cannot read"):
        call_command("import_history", str(tmp_path / "none.jsonl"))


def test_a_long_file_comes_in_by_batches_and_tells_how_far_it_is(tmp_path: Path, capsys: Any) -> None:
    bring_in(tmp_path, *[a_run(f"run-{n}") for n in range(250)])
    assert Run.objects.count() == 250
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Importing")]
    assert told[-1] == "Importing 100 %"
    assert len(told) >= 3
    percents = [int(line.split()[1]) for line in told]
    assert all(one < other for one, other in itertools.pairwise(percents))


SOON = "the time is in the future"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"triggered_at": "{late}"}, f"triggered_at: {SOON}"),
        ({"completed_at": "{late}"}, f"completed_at: {SOON}"),
        ({"steps": [a_step(), a_step(name="b", started_at="{late}")]}, f"steps[1].started_at: {SOON}"),
        ({"steps": [a_step(marks=[a_mark(made_at="{late}")])]}, f"steps[0].marks[0].made_at: {SOON}"),
        ({"marks": [a_mark(made_at="{late}")]}, f"marks[0].made_at: {SOON}"),
        ({"log": [{"at": "{late}", "message": "x"}]}, f"log[0].at: {SOON}"),
        (
            {"triggered_at": "{now}", "steps": [{"name": "long", "duration_ms": 61_001}]},
            "the end of step 'long' is in the future",
        ),
    ],
)
def test_what_lies_in_the_future_is_left_out_by_its_line(changes: Any, told: str) -> None:
    now = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
    line = json.dumps(a_run("late", **changes))
    line = line.replace("{late}", "2026-06-01T12:01:01Z").replace("{now}", "2026-06-01T12:00:00Z")
    [run, problem] = jsonl.read(io.BytesIO(f"{json.dumps(a_run())}\n{line}\n".encode()), now=now)
    assert isinstance(run, records.Run)
    assert problem == jsonl.Problem(2, told)


def test_clocks_may_differ_by_a_minute() -> None:
    now = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
    line = json.dumps(a_run(triggered_at="2026-06-01T14:01:00+02:00", steps=[]))
    [run] = jsonl.read(io.BytesIO(line.encode()), now=now)
    assert isinstance(run, records.Run)


def test_the_command_reads_the_clock(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="1 line left out"):
        bring_in(tmp_path, a_run("late", triggered_at="2990-01-01T00:00:00Z"), a_run())
    assert Run.objects.count() == 1
