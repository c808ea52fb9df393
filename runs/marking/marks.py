"""Marks on steps and runs, together with what they do to the marking queue.

The only way the pages, the API and imports mark: each change of a label and of the queue is one transaction.
"""

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from calibration import labels
from calibration.models import Mark
from runs.marking.holds import let_go
from runs.marking.items import refresh_labels, settle
from runs.models import QueueItem, QueueSkip, Run


class NoSuchRun(LookupError):
    """There is no run with this id, so there is nothing to mark."""


def mark_step(
    *,
    step_id: UUID,
    by: User,
    outcome: str,
    note: str = "",
    was_blind: bool | None,
    via: str,
    offered_by: str = "",
    now: datetime,
) -> Mark:
    """Record what ``by`` says about a step's answer; the step leaves the queue unless a second opinion is wanted.

    Whoever has marked a step before has seen what the machine thinks of it, so this mark is not blind,
    whatever the caller believes. A double submit gives one mark. Raises NoSuchSample (a step without a
    confidence cannot be marked), or ValueError for an unknown outcome, ``via`` or ``offered_by``.
    """
    with transaction.atomic():
        if was_blind and by.pk in Mark.objects.filter(sample_id=step_id).values_list("by_id", flat=True):
            was_blind = False
        mark = labels.mark_sample(
            sample_id=step_id,
            by=by,
            outcome=outcome,
            note=note,
            was_blind=was_blind,
            via=via,
            offered_by=offered_by,
            now=now,
        )
        settle([step_id])
    return mark


def mark_run(
    *, run_id: UUID, by: User, outcome: str, note: str = "", was_blind: bool | None = False, via: str, now: datetime
) -> Mark:
    """Record what ``by`` says about a run as a whole. Its steps stay in the queue, tagged with the label they get.

    Raises NoSuchRun, or ValueError for an unknown outcome or ``via``.
    """
    if not Run.objects.filter(pk=run_id).exists():
        raise NoSuchRun(f"no run {run_id}")
    with transaction.atomic():
        mark = labels.mark_group(group=run_id, by=by, outcome=outcome, note=note, was_blind=was_blind, via=via, now=now)
        refresh_labels(run_id)
    return mark


def undo(*, mark_id: int, by: User, now: datetime) -> Mark:
    """Take back one's own current mark; a step that nobody else has marked is in the queue again.

    Returns the mark undone. Raises CannotUndo (``calibration.labels``).
    """
    with transaction.atomic():
        mark = labels.undo_mark(mark_id=mark_id, by=by, now=now)
        if mark.sample_id is not None:
            settle([mark.sample_id])
        elif mark.group is not None:
            refresh_labels(mark.group)
    return mark


def skip(*, step_id: UUID, by: User, now: datetime) -> None:
    """Leave a waiting step to others: ``by`` is offered it again only when nothing else is left."""
    with transaction.atomic():
        if QueueItem.objects.filter(pk=step_id).exists():
            QueueSkip.objects.update_or_create(step_id=step_id, by=by, defaults={"at": now})
        let_go(step_id=step_id, by=by)
