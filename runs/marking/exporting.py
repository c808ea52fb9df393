"""All marks, as rows of a file, read bit by bit."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calibration.models import Mark
from runs.models import Run, Step

BATCH = 1_000


def exported(*, current_only: bool = False) -> Iterator[Mapping[str, Any]]:
    """Every mark in the order they were stored, as ``mark_files.COLUMNS``; three queries for each BATCH of them.

    Marks made meanwhile may or may not be among them.
    """
    marks = Mark.objects.select_related("by").order_by("id")
    if current_only:
        marks = marks.filter(is_current=True)
    last = 0
    while batch := list(marks.filter(id__gt=last)[:BATCH]):
        yield from _rows(batch)
        last = batch[-1].pk


def _rows(marks: Sequence[Mark]) -> Iterator[Mapping[str, Any]]:
    steps = Step.objects.only("id", "name", "run_id").in_bulk({mark.sample_id for mark in marks if mark.sample_id})
    run_ids = {step.run_id for step in steps.values()} | {mark.group for mark in marks if mark.group}
    pipelines = dict(Run.objects.filter(pk__in=run_ids).values_list("id", "pipeline_name"))
    for mark in marks:
        step = steps.get(mark.sample_id) if mark.sample_id else None
        run_id = step.run_id if step else mark.group
        yield {
            "run_id": str(run_id) if run_id else None,
            "pipeline": pipelines.get(run_id) if run_id else None,
            "step_id": str(mark.sample_id) if mark.sample_id else None,
            "step_name": step.name if step else None,
            "marker": mark.by.get_username(),
            "outcome": mark.outcome,
            "note": mark.note,
            "made_at": mark.made_at.isoformat(),
            "is_current": mark.is_current,
            "undone_at": mark.undone_at.isoformat() if mark.undone_at else None,
            "was_blind": mark.was_blind,
            "via": mark.via,
            "offered_by": mark.offered_by,
        }
