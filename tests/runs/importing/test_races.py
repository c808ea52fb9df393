"""Imports while the service works: each at once, on a connection of its own."""

import json
import uuid
from datetime import UTC, datetime

import pytest

from calibration.labels import differences
from calibration.models import Mark, Sample, Tally
from runs.importing import records
from runs.importing.store import Stored, store
from runs.marking.importing import import_lines
from runs.marking.mark_files import Line
from runs.marking.marks import mark_run, mark_step
from runs.models import Run
from tests import factories
from tests.at_once import at_once
from tests.calibration.factories import key, record
from tests.runs.importing.told import a_mark, a_run, a_step
from tests.runs.marked import markable

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def told() -> list[records.Run]:
    steps = [
        a_step(name="failed", checks=[{"name": "c", "passed": False}], marks=[a_mark()]),
        a_step(name="open"),
        a_step(name="marked", marks=[a_mark("partial"), a_mark("incorrect", marker="otto")]),
    ]
    runs = [a_run(f"run-{n}", steps=steps[n % 2 :], marks=[a_mark("incorrect")] * (n % 3 == 0)) for n in range(12)]
    return [records.Run.model_validate_json(json.dumps(run)) for run in runs]


def test_two_imports_of_one_file_while_steps_end_and_people_mark() -> None:
    run, anna = factories.run(), factories.user("anna")
    steps = [markable(run, f"step-{n}") for n in range(4)]
    file = told()

    def bring_in() -> None:
        for start in range(0, len(file), 3):
            store(file[start : start + 3], Stored(), now=NOW)

    def end_steps() -> None:
        # In the buckets of the imported steps, so that all write the same tallies.
        failed = key(step="failed", agent="command:assess", prompt_hash="abc")
        for _ in range(10):
            record(failed, check_failed=True, group=uuid.uuid4())

    def mark() -> None:
        for outcome in ("correct", "partial", "incorrect"):
            mark_run(run_id=run.pk, by=anna, outcome=outcome, via="page", now=NOW)
            for step in steps:
                mark_step(step_id=step.pk, by=anna, outcome=outcome, was_blind=False, via="page", now=NOW)

    def import_marks() -> None:
        lines = [Line(n, {"step_id": str(step.pk), "outcome": "correct"}) for n, step in enumerate(steps)]
        lines.append(Line(9, {"run_id": str(run.pk), "outcome": "partial"}))
        for dry_run in (True, False, True, False):
            list(import_lines(lines, by="otto", now=NOW, dry_run=dry_run))

    at_once(bring_in, bring_in, end_steps, mark, import_marks)
    assert Run.objects.filter(started_by__startswith="import of").count() == 12
    assert differences(list(Sample.objects.all())) == []
    assert sum(Tally.objects.values_list("n", flat=True)) == Sample.objects.filter(label__isnull=False).count()
    assert Mark.objects.filter(by__username="otto", sample__in=[step.pk for step in steps]).count() == 4
