import io
import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from calibration.models import Mark, Tally
from calibration.resolving import resolve_all
from runs.marking import marks
from runs.marking.exporting import exported
from runs.marking.importing import Outcome, import_lines
from runs.marking.mark_files import FORMS, read, written
from runs.models import QueueItem
from tests import factories
from tests.runs.marked import label, markable, said

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
EARLIER = NOW - timedelta(days=3)


def import_rows(*rows: dict[str, Any], dry_run: bool = False, now: datetime = NOW, **options: Any) -> Outcome:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    return import_text(text, dry_run=dry_run, now=now, **options)


def import_text(
    text: str, form: Any = "jsonl", *, dry_run: bool = False, now: datetime = NOW, **options: Any
) -> Outcome:
    lines = read(io.BytesIO(text.encode()), form)
    [*_, outcome] = import_lines(lines, by="importer", now=now, dry_run=dry_run, **options)
    return outcome


def on_step(step: Any, outcome: str = "correct", **more: Any) -> dict[str, Any]:
    return {
        "run_id": str(step.run_id),
        "step_name": step.name,
        "outcome": outcome,
        "made_at": EARLIER.isoformat(),
        **more,
    }


def everything() -> Any:
    return (
        list(Mark.objects.order_by("id").values()),
        list(Tally.objects.order_by("id").values()),
        sorted(QueueItem.objects.values_list("step_id", "label_source")),
    )


def test_marks_label_their_steps_and_empty_the_queue() -> None:
    step, group = markable(name="look"), markable(name="group/0")
    done = import_rows(
        on_step(step, marker="anna"), {"step_id": str(group.id), "outcome": "incorrect", "marker": "otto"}
    )
    assert (done.lines, done.added, done.counting, done.known, done.relabelled, done.bad) == (2, 2, 2, 0, 2, 0)
    assert done.new_markers == {"anna", "otto"}
    assert label(step.id) == (1.0, "step_mark")
    assert label(group.id) == (0.0, "step_mark")
    assert not QueueItem.objects.exists()
    first = Mark.objects.get(sample_id=step.id)
    assert (first.made_at, first.via, first.by.is_active) == (EARLIER, "import", False)
    assert Mark.objects.get(sample_id=group.id).made_at == NOW


def test_a_mark_on_a_run_labels_what_nothing_closer_labels() -> None:
    step = markable()
    import_rows({"run_id": str(step.run_id), "outcome": "partial"})
    assert label(step.id) == (0.5, "run_mark")
    assert QueueItem.objects.get().label_source == "run_mark"
    assert said() == [("importer", "partial", True)]


@pytest.mark.parametrize("form", FORMS)
def test_an_export_read_back_changes_nothing(form: Any) -> None:
    anna, step = factories.user("anna"), markable()
    for number, outcome in enumerate(("correct", "partial", "incorrect")):
        marks.mark_step(
            step_id=step.id, by=anna, outcome=outcome, note=f'=1+1\n"{number}"', was_blind=True, via="queue",
            offered_by="random", now=EARLIER + timedelta(hours=number),
        )  # fmt: skip
    marks.undo(mark_id=Mark.objects.get(is_current=True).pk, by=anna, now=NOW)
    marks.mark_run(run_id=step.run_id, by=anna, outcome="correct", via="page", now=EARLIER)
    before = everything()
    done = import_text("".join(written(exported(), form)), form)
    assert (done.lines, done.known, done.added, done.bad, done.relabelled) == (4, 4, 0, 0, 0)
    assert everything() == before


@pytest.mark.parametrize("form", FORMS)
def test_an_export_rebuilds_the_same_marks_elsewhere(form: Any) -> None:
    anna, step = factories.user("anna"), markable()
    for number, outcome in enumerate(("correct", "partial", "incorrect")):
        marks.mark_step(
            step_id=step.id, by=anna, outcome=outcome, was_blind=True, via="queue", offered_by="random",
            now=EARLIER + timedelta(hours=number),
        )  # fmt: skip
    marks.undo(mark_id=Mark.objects.get(is_current=True).pk, by=anna, now=NOW)
    told = said()
    text = "".join(written(exported(), form))
    for mark in Mark.objects.all():
        mark.delete()  # as if they had never been made here
    list(resolve_all())
    done = import_text(text, form)
    assert (done.added, done.counting, done.relabelled) == (3, 1, 1)
    assert said() == told == [("anna", "correct", False), ("anna", "partial", True), ("anna", "incorrect", False)]
    assert label(step.id) == (0.5, "step_mark")
    kept = Mark.objects.order_by("made_at").values_list("was_blind", "offered_by")
    assert list(kept) == [(True, "random"), (False, "random"), (False, "random")]


def test_what_was_said_before_what_counts_now_is_history() -> None:
    anna, step = factories.user("anna"), markable()
    marks.mark_step(step_id=step.id, by=anna, outcome="incorrect", was_blind=False, via="page", now=NOW)
    done = import_rows(on_step(step, "correct", marker="anna"))
    assert (done.added, done.counting, done.relabelled) == (1, 0, 0)
    assert said() == [("anna", "correct", False), ("anna", "incorrect", True)]
    assert label(step.id) == (0.0, "step_mark")


def test_the_same_words_at_another_time_are_another_mark_and_without_a_time_only_if_they_count_already() -> None:
    anna, step = factories.user("anna"), markable()
    first = marks.mark_step(step_id=step.id, by=anna, outcome="correct", was_blind=False, via="page", now=NOW)
    assert import_rows(on_step(step, "correct", marker="anna")).added == 1  # days before
    undated = {"step_id": str(step.id), "outcome": "correct", "marker": "anna"}
    assert import_rows(undated).known == 1
    later = NOW + timedelta(hours=1)
    marks.mark_step(step_id=step.id, by=anna, outcome="partial", was_blind=False, via="page", now=later)
    done = import_rows(undated, now=later + timedelta(hours=1))
    assert (done.added, done.counting) == (1, 1)
    first.refresh_from_db()
    assert not first.is_current
    assert label(step.id) == (1.0, "step_mark")


def test_the_order_of_the_lines_does_not_matter() -> None:
    step = markable()
    rows = [
        on_step(step, outcome, marker="anna", made_at=(EARLIER + timedelta(hours=hour)).isoformat())
        for hour, outcome in enumerate(("correct", "partial", "incorrect"))
    ]
    import_rows(rows[2], rows[0], rows[1])
    assert label(step.id) == (0.0, "step_mark")


def test_the_same_file_again_adds_nothing_also_without_times() -> None:
    step = markable()
    undated = {"step_id": str(step.id), "outcome": "correct", "note": "fine"}
    assert import_rows(undated).added == 1
    done = import_rows(undated, now=NOW + timedelta(days=1))
    assert (done.added, done.known) == (0, 1)
    assert import_rows(undated | {"outcome": "partial"}, now=NOW + timedelta(days=2)).added == 1


def test_a_dry_run_tells_what_would_change_and_changes_nothing() -> None:
    step, other = markable(), markable()
    rows = [on_step(step, marker="anna"), on_step(other, "incorrect", marker="anna"), {"outcome": "correct"}]
    before = everything()
    foretold = import_rows(*rows, dry_run=True)
    assert everything() == before
    assert not factories.User.objects.filter(username="anna").exists()
    assert import_rows(*rows) == foretold
    assert (foretold.added, foretold.bad, foretold.new_markers) == (2, 1, {"anna"})


def test_labels_and_tallies_stay_what_a_fresh_resolution_gives() -> None:
    run = factories.run()
    steps = [markable(run, f"step-{number}", check_failed=number == 0) for number in range(4)]
    import_rows(
        on_step(steps[0], "correct", marker="a"),
        on_step(steps[1], "partial", marker="a"),
        on_step(steps[1], "incorrect", marker="b"),
        {"run_id": str(run.id), "outcome": "incorrect"},
    )
    assert [difference for progress in resolve_all(correct=False) for difference in progress.differences] == []
    assert sum(Tally.objects.values_list("n", flat=True)) == 4


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"outcome": "good"}, "outcome: expected one of correct, partial, incorrect, not 'good'"),
        ({"outcome": None}, "outcome: expected one of"),
        ({"outcome": 1}, "outcome: expected text, not int"),
        ({"note": "x" * 10_001}, "note: longer than 10,000 characters"),
        ({"note": ["x"]}, "note: expected text, not list"),
        ({"marker": "\u202eevil\x1b[2J"}, "marker: expected a printable name, not '\\u202eevil\\x1b[2J'"),
        ({"marker": "x" * 151}, "marker: longer than 150 characters"),
        ({"made_at": "yesterday"}, "made_at: expected a time such as 2026-01-31T12:00:00Z, not 'yesterday'"),
        ({"made_at": 5}, "made_at: expected a time"),
        ({"made_at": "2026-13-45T00:00:00Z"}, "made_at: expected a time"),
        ({"made_at": "9999-12-31T23:59:59-23:00"}, "made_at: expected a time"),
        (
            {"made_at": "2026-12-01T12:01:01Z"},
            "made_at: expected a time that is not in the future",
        ),
        ({"undone_at": "2027-01-01T00:00:00Z"}, "undone_at: expected a time that is not in the future"),
        ({"made_at": "0001-01-01T00:00:00Z"}, "made_at: expected a time of the years 1970 to 2999, not '0001-01-01T"),
        ({"made_at": "0001-01-01T00:00:00+14:00"}, "made_at: expected a time of the years 1970 to 2999"),
        ({"made_at": "1969-12-31T23:59:59Z"}, "made_at: expected a time of the years 1970 to 2999"),
        ({"made_at": "9999-12-31T23:59:59-12:00"}, "made_at: expected a time of the years 1970 to 2999"),
        ({"was_blind": "maybe"}, "was_blind: expected true or false, not 'maybe'"),
        ({"was_blind": 1}, "was_blind: expected true or false"),
        ({"was_blind": []}, "was_blind: expected true or false"),
        ({"offered_by": "luck"}, "offered_by: expected one of oldest"),
        ({"run_id": "7"}, "run_id: expected an id such as"),
        ({"run_id": {}}, "run_id: expected an id such as"),
        ({"run_id": None}, "names neither a run_id nor a step_id"),
        (
            {"run_id": str(uuid.UUID(int=7))},
            "there is no step 'assess' of run 00000000-0000-0000-0000-000000000007 here",
        ),
        ({"step_name": "nope"}, "there is no step 'nope' of run"),
        ({"step_id": str(uuid.UUID(int=7))}, "there is no step 00000000-0000-0000-0000-000000000007 here"),
    ],
)
def test_a_bad_line_is_named_and_changes_nothing(change: dict[str, Any], reason: str) -> None:
    step, good = markable(), markable(name="good")
    done = import_rows(on_step(good), on_step(step) | change)
    assert (done.added, done.bad) == (1, 1)
    assert done.problems[0].line == 2
    assert reason in done.problems[0].reason
    assert label(step.id) == (None, "")


def test_what_cannot_be_marked_is_told() -> None:
    bare = factories.step(factories.run(), "notify")
    running = factories.run(status="running")
    step = markable()
    done = import_rows(
        on_step(bare),
        {"run_id": str(running.id), "outcome": "correct"},
        {"step_id": str(step.id), "run_id": str(bare.run_id), "outcome": "correct"},
    )
    assert [problem.reason.partition(" ")[0] for problem in done.problems] == ["step", "run", "step"]
    assert "has no confidence" in done.problems[0].reason
    assert "has not ended yet" in done.problems[1].reason
    assert "not what the line says" in done.problems[2].reason


def test_lines_about_what_is_not_here_can_be_left_out() -> None:
    step = markable()
    absent = {"run_id": str(uuid.uuid4()), "outcome": "correct"}
    done = import_rows(absent, on_step(step), skip_absent=True)
    assert (done.added, done.absent, done.bad) == (1, 1, 0)


def test_of_very_many_problems_the_first_are_told() -> None:
    done = import_rows(*[{"outcome": "x"}] * 1_200)
    assert (done.bad, len(done.problems), done.problems[-1].line) == (1_200, 100, 100)


def test_a_batch_costs_the_same_number_of_queries_whatever_it_holds() -> None:
    counts = []
    for many in (2, 40):
        steps = [markable(name=f"step-{number}") for number in range(many)]
        factories.user("importer") if many == 2 else None
        with CaptureQueriesContext(connection) as queries:
            import_rows(*[on_step(step) for step in steps])
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_an_export_costs_the_same_number_of_queries_whatever_it_holds() -> None:
    counts = []
    for many in (1, 10):
        import_rows(*[on_step(markable(name=f"step-{number}")) for number in range(many)])
        with CaptureQueriesContext(connection) as queries:
            list(exported())
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_only_the_marks_that_count_can_be_exported() -> None:
    step = markable()
    import_rows(on_step(step), on_step(step, "partial", made_at=NOW.isoformat()))
    assert [row["outcome"] for row in exported(current_only=True)] == ["partial"]
    [first, _] = exported()
    assert (first["pipeline"], first["step_name"], first["is_current"]) == ("checkout-error-rate", "assess", False)
