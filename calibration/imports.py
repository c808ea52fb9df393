"""Marks that were made elsewhere or earlier, put into their place in time."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from calibration.holds import hold_off_samples, hold_rows
from calibration.labels import Difference, relabel
from calibration.models import Mark, Sample, Via
from calibration.storable import storable_text

Owner = tuple[int, UUID | None, UUID | None]  # who marked which sample, or which group


@dataclass(frozen=True)
class OldMark:
    """One judgement of a sample, or of a group when ``sample_id`` is None; the outcome is known to be valid.

    ``is_undated``: nobody knows when it was made, so it is nothing new if the same counts already.
    """

    by_id: int
    outcome: str
    made_at: datetime
    sample_id: UUID | None = None
    group: UUID | None = None
    note: str = ""
    undone_at: datetime | None = None
    was_blind: bool | None = None
    offered_by: str = ""
    is_undated: bool = False

    @property
    def owner(self) -> Owner:
        return self.by_id, self.sample_id, self.group


@dataclass(frozen=True)
class Imported:
    """``added`` marks, of which ``current`` count now; ``known`` stood there already; ``relabelled`` changed."""

    added: int
    current: int
    known: int
    relabelled: Sequence[Difference]


def import_marks(marks: Sequence[OldMark]) -> Imported:
    """Add the marks that are not there yet, in one transaction; the same marks again change nothing.

    Afterwards the mark that counts of each person on each thing is their newest that was not taken
    back, whichever came first into the database.
    """
    with transaction.atomic():
        held = _hold(marks)
        added = _added(marks)
        Mark.objects.bulk_create(added, batch_size=500)
        current = _choose_current({mark.owner for mark in marks})
        return Imported(
            added=len(added),
            current=sum(mark.pk in current for mark in added),
            known=len(marks) - len(added),
            relabelled=relabel(held),
        )


def _hold(marks: Sequence[OldMark]) -> list[Sample]:
    groups = {mark.group for mark in marks if mark.group}
    if groups:
        hold_off_samples()  # first: ``hold_rows`` takes a weaker lock, and could wait for the stronger in a circle
    return hold_rows(
        Sample.objects.filter(Q(pk__in={mark.sample_id for mark in marks if mark.sample_id}) | Q(group__in=groups))
    )


def _added(marks: Sequence[OldMark]) -> list[Mark]:
    stored = _marks_of({mark.owner for mark in marks})
    there = {_identity(mark) for mark in stored}
    counting = {_identity(mark)[:-1] for mark in stored if mark.is_current}
    added = []
    for old in marks:
        mark = Mark(
            by_id=old.by_id,
            sample_id=old.sample_id,
            group=old.group,
            outcome=old.outcome,
            note=storable_text(old.note),
            made_at=old.made_at,
            undone_at=old.undone_at,
            was_blind=old.was_blind,
            offered_by=old.offered_by,
            via=Via.IMPORT,
            is_current=False,
        )
        repeated = old.is_undated and _identity(mark)[:-1] in counting
        if _identity(mark) not in there and not repeated:
            there.add(_identity(mark))
            added.append(mark)
    return added


def _choose_current(owners: set[Owner]) -> set[int]:
    """Make the newest mark of each owner that was not undone the current one; the ids of those."""
    by_owner: dict[Owner, list[Mark]] = defaultdict(list)
    for mark in _marks_of(owners):
        by_owner[_owner(mark)].append(mark)
    newest = {
        max(standing, key=lambda mark: (mark.made_at, mark.pk)).pk
        for marks in by_owner.values()
        if (standing := [mark for mark in marks if mark.undone_at is None])
    }
    stored = {mark.pk for marks in by_owner.values() for mark in marks if mark.is_current}
    # Those that no longer count first: a person has at most one mark that counts on a thing.
    Mark.objects.filter(pk__in=stored - newest).update(is_current=False)
    Mark.objects.filter(pk__in=newest - stored).update(is_current=True)
    return newest


def _marks_of(owners: set[Owner]) -> list[Mark]:
    found = Mark.objects.filter(
        Q(sample_id__in={sample for _, sample, _ in owners if sample})
        | Q(group__in={group for _, _, group in owners if group}),
        by_id__in={by for by, _, _ in owners},
    )
    return [mark for mark in found.order_by("id") if _owner(mark) in owners]


def _owner(mark: Mark) -> Owner:
    return mark.by_id, mark.sample_id, mark.group


def _identity(mark: Mark) -> tuple[Owner, str, str, datetime]:
    return _owner(mark), mark.outcome, mark.note, mark.made_at
