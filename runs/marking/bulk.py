"""One mark for many waiting steps: asked with the exact number, then given to exactly those or to none."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet

from calibration import labels
from calibration.holds import hold_rows
from calibration.models import Mark, Sample, Via
from calibration.plurals import plural
from runs.marking.filters import QueueFilters
from runs.marking.holds import for_person, not_held
from runs.marking.items import settle
from runs.models import QueueItem

LIMIT = 5_000


@dataclass(frozen=True)
class Selection:
    """The ``count`` oldest steps that match and nobody else has in front of them.

    ``is_all`` is False when more match than one go may mark. ``digest`` names exactly these steps;
    ``until`` is when it was asked: what finishes later does not belong to it.
    """

    count: int
    is_all: bool
    digest: str
    until: datetime


@dataclass(frozen=True)
class Marked:
    """How many steps were marked at once, and the ids of the first and the last of the marks; others lie between."""

    count: int
    first: int
    last: int


class SelectionChanged(Exception):
    """Meanwhile somebody marked or took one of them: nothing was marked. ``now`` is what there is to confirm now."""

    def __init__(self, now: Selection) -> None:
        super().__init__(f"the selection has changed; it holds {plural(now.count, 'step')} now")
        self.now = now


def ask(filters: QueueFilters, *, by: User, now: datetime) -> Selection:
    """What a mark on everything under the filters would reach."""
    return _selection(_ids(_matching(filters, by, until=now, now=now)), now)


def confirm(
    filters: QueueFilters,
    *,
    digest: str,
    until: datetime,
    by: User,
    outcome: str,
    note: str = "",
    was_blind: bool | None,
    now: datetime,
) -> Marked:
    """Mark exactly the steps that were asked about, all of them or none; each mark can be undone by itself later.

    Raises SelectionChanged, or ValueError for an unknown outcome.
    """
    with transaction.atomic():
        matching = _matching(filters, by, until=until, now=now)
        ids = _ids(matching)[:LIMIT]
        # In this order, as everywhere: samples, then items. From here on nobody can mark or take one of them.
        hold_rows(Sample.objects.filter(pk__in=ids))
        held = set(QueueItem.objects.filter(pk__in=ids).select_for_update().order_by("pk").values_list("pk", flat=True))
        still = _ids(matching)  # what came back since the first look is not locked, and so not marked
        if _selection(still, until).digest != digest or held != set(still[:LIMIT]):
            raise SelectionChanged(_selection(_ids(_matching(filters, by, until=now, now=now)), now))
        made = labels.mark_samples(
            sample_ids=held, by=by, outcome=outcome, note=note, was_blind=was_blind, via=Via.BULK, now=now
        )
        settle(held)
    ids_made = [mark.pk for mark in made]
    return Marked(len(held), min(ids_made, default=0), max(ids_made, default=0))


def made_at_once(*, first: int, last: int, by: User) -> QuerySet[Mark]:
    """The marks of one go of ``by``, undone ones too, in order; none where ``first`` is not theirs."""
    start = Mark.objects.filter(pk=first, via=Via.BULK).first()
    if start is None or start.by_id != by.pk:
        return Mark.objects.none()
    # By their ids, which are bounded: through the index of markers it would be all that this person ever marked.
    maker = F("by_id") + 0
    found = Mark.objects.filter(pk__gte=first, pk__lte=last, via=Via.BULK, made_at=start.made_at)
    return found.alias(maker=maker).filter(maker=by.pk).order_by("pk")


def _matching(filters: QueueFilters, by: User, *, until: datetime, now: datetime) -> QuerySet[QueueItem]:
    items = QueueItem.objects.filter(for_person(by), not_held(by, now), finished_at__lte=until)
    return filters.apply(items, now=until).order_by("finished_at", "step_id")


def _ids(matching: QuerySet[QueueItem]) -> list[UUID]:
    """One more than may be marked, to know whether that is all."""
    return list(matching.values_list("step_id", flat=True)[: LIMIT + 1])


def _selection(ids: Sequence[UUID], until: datetime) -> Selection:
    chosen = ids[:LIMIT]
    digest = sha256(b"".join(one.bytes for one in chosen)).hexdigest()
    return Selection(len(chosen), len(ids) <= LIMIT, digest, until)
