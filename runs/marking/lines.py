"""Who is next in line: the steps a marker may be given, in each of the orders."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from calibration.models import Order, Sample
from runs.marking import useful
from runs.marking.chance import PLACES, place
from runs.marking.filters import QueueFilters
from runs.marking.holds import for_person, not_held
from runs.models import QueueItem, QueueSkip

# How many of the first in line are tried before looking again: colleagues who ask in the same instant may be faster.
TRIED = 5
# How much of the random order is walked in search of what matches a filter before all that matches is sorted.
BANDS = 128
_COLUMNS = {Order.OLDEST: "finished_at", Order.NEWEST: "finished_at", Order.RANDOM: "shuffle"}


@dataclass(frozen=True)
class Line:
    """The steps that ``by`` may be given now: those behind the step they ``left`` first, then from the start again.

    ``backwards`` is the same line seen from its end. What they skipped comes last.
    """

    by: User
    order: Order
    filters: QueueFilters
    now: datetime
    left: UUID | None = None
    backwards: bool = False

    def __iter__(self) -> Iterator[tuple[UUID, bool]]:
        """The first few, and whether each was skipped before; looked up only as far as they are wanted."""
        if self.order is Order.USEFUL:
            fresh = self._fresh()
            yield from ((one, False) for one in useful.in_line(fresh, self.left, backwards=self.backwards)[:TRIED])
        else:
            yield from ((one, False) for one in self._sorted())
        waiting = waiting_for(self.by, self.filters, self.now)
        skipped = skips(self.by, waiting).order_by("at", "id").values_list("step_id", flat=True)[:TRIED]
        yield from ((one, True) for one in skipped)

    def _fresh(self, *, by_index: bool = True) -> QuerySet[QueueItem]:
        skipped = QueueSkip.objects.filter(step_id=OuterRef("step_id"), by=self.by)
        return waiting_for(self.by, self.filters, self.now, by_index=by_index).filter(~Exists(skipped))

    def _sorted(self) -> Iterator[UUID]:
        column = _COLUMNS[self.order]
        descends = (self.order is Order.NEWEST) != self.backwards
        sign, way = ("-", "lt") if descends else ("", "gt")
        sort = (f"{sign}{column}", f"{sign}step_id")
        for start, following in self._stretches(column, way):
            if self.order is Order.RANDOM and self.filters.chosen():
                band = self._fresh(by_index=False).filter(following, _band(start, descends=descends))
                yield from band.order_by(*sort).values_list("step_id", flat=True)[:TRIED]
            yield from self._fresh().filter(following).order_by(*sort).values_list("step_id", flat=True)[:TRIED]

    def _stretches(self, column: str, way: str) -> Iterator[tuple[datetime | int | None, Q]]:
        """What follows ``left`` in the order, with its place there, then everything; else everything alone."""
        start = None if self.left is None else _position(self.left, column)
        if start is not None:
            edge = Q(**{f"{column}__{way}e": start})  # bounds the walk through the index; then the exact rule
            yield start, edge & (Q(**{f"{column}__{way}": start}) | Q(**{column: start, f"step_id__{way}": self.left}))
        yield None, Q()


def waiting_for(by: User, filters: QueueFilters, now: datetime, *, by_index: bool = True) -> QuerySet[QueueItem]:
    """What matches and is neither a colleague's at this moment nor marked by this person already."""
    return filters.apply(QueueItem.objects.filter(for_person(by), not_held(by, now)), now=now, by_index=by_index)


def skips(by: User, waiting: QuerySet[QueueItem]) -> QuerySet[QueueSkip]:
    """Those of a person that still wait: found from the skips, which are few, not from what waits."""
    return QueueSkip.objects.filter(Exists(waiting.filter(pk=OuterRef("step_id"))), by=by)


def _band(start: datetime | int | None, *, descends: bool) -> Q:
    """The nearest part of the random order.

    A filter that many steps match is met soon on the way; sorting all that match would take longer
    the more there are. One that few match is not met in here, and then sorting them costs little.
    """
    width = PLACES // BANDS
    if descends:
        edge = start if isinstance(start, int) else PLACES
        return Q(shuffle__lte=edge, shuffle__gt=edge - width)
    edge = start if isinstance(start, int) else 0
    return Q(shuffle__gte=edge, shuffle__lt=edge + width)


def _position(step_id: UUID, column: str) -> datetime | int | None:
    """Where a step stands in an order, also after its mark took it out of the queue; None for no such step."""
    if column == "shuffle":
        return place(step_id)
    return Sample.objects.filter(pk=step_id).values_list("observed_at", flat=True).first()
