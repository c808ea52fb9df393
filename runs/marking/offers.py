"""Which step a marker is given next, and that nobody else is given it meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from calibration.models import Order, Sample
from runs.marking import counting, useful
from runs.marking.chance import place
from runs.marking.counting import Count as Counted
from runs.marking.filters import QueueFilters
from runs.marking.holds import for_person, hold, let_go, not_held, refusal
from runs.models import QueueItem, QueueSkip

REMAINING_CAP = 1_000
# How many of the first in line are tried before looking again, and how often: colleagues who ask in the same instant
# may be faster each time.
TRIED = 5
LOOKS = 10
_SORTS = {
    Order.OLDEST: ("finished_at", "step_id"),
    Order.NEWEST: ("-finished_at", "-step_id"),
    Order.RANDOM: ("shuffle", "step_id"),
}
_REASONS = {
    Order.OLDEST: "It has waited longest.",
    Order.NEWEST: "It finished last.",
    Order.RANDOM: "It was drawn by chance.",
}
SKIPPED = "You skipped it before, and nothing else is left."


@dataclass(frozen=True)
class Offer:
    """One step to mark, nobody else's until ``held_until``.

    ``reason`` says why this one, without any confidence; ``bin_reason`` says it with the bin, so it is
    not for a blind marker ("" for the orders that know no bins).
    """

    item: QueueItem
    order: Order
    held_until: datetime
    reason: str
    bin_reason: str = ""

    @property
    def step_id(self) -> UUID:
        return self.item.step_id


@dataclass(frozen=True)
class Remaining:
    """What is left under the filters: for this person (``skipped`` among it), and in the hands of others."""

    free: Counted
    skipped: Counted
    held_by_others: int
    next_free_at: datetime | None


def next_item(
    *,
    by: User,
    order: Order,
    filters: QueueFilters,
    now: datetime,
    after: UUID | None = None,
    before: UUID | None = None,
) -> Offer | None:
    """The next step for ``by``, held for them; None when there is none that they can have.

    ``after`` is the step they come from, still waiting or not: what follows it in the order is
    offered, from the start again past the end, and the step itself is free for others. ``before``
    likewise goes backwards. What they skipped comes last.
    """
    waiting = _for(by, filters, now)
    left = after or before
    for _ in range(LOOKS):
        is_empty = True
        for step_id, is_skipped in _in_line(waiting, by, order, left, backwards=before is not None):
            is_empty = False
            until = hold(step_id, by, now, instead_of=left)
            if until and (offer := _offer(step_id, order, until, SKIPPED if is_skipped else "")):
                return offer
        if is_empty:
            break
    return None


def take(*, step_id: UUID, by: User, now: datetime, order: Order = Order.PICKED) -> Offer:
    """The step at an address, held for ``by`` (again). Raises HeldByColleague or NotWaiting (both in ``holds``)."""
    until = hold(step_id, by, now)
    offer = _offer(step_id, order, until) if until else None
    if offer is None:
        raise refusal(step_id, by)
    return offer


def release(*, step_id: UUID, by: User) -> None:
    """Free a step that ``by`` leaves unmarked."""
    let_go(step_id=step_id, by=by)


def remaining(filters: QueueFilters, by: User, now: datetime) -> Remaining:
    """Whether anything is left for ``by``: free now, or later because colleagues hold it."""
    mine = filters.apply(QueueItem.objects.filter(for_person(by)), now=now)
    free = mine.filter(not_held(by, now))
    held = mine.filter(held_by__isnull=False, held_until__gt=now).exclude(held_by=by)
    others = held.aggregate(n=Count("pk"), next=Min("held_until"))
    return Remaining(
        free=counting.upto(free, REMAINING_CAP),
        skipped=counting.upto(_skips(by, free), REMAINING_CAP),
        held_by_others=others["n"],
        next_free_at=others["next"],
    )


def _for(by: User, filters: QueueFilters, now: datetime) -> QuerySet[QueueItem]:
    return filters.apply(QueueItem.objects.filter(for_person(by), not_held(by, now)), now=now)


def _was_skipped(by: User) -> Exists:
    return Exists(QueueSkip.objects.filter(step_id=OuterRef("step_id"), by=by))


def _skips(by: User, waiting: QuerySet[QueueItem]) -> QuerySet[QueueSkip]:
    """Those of a person that still wait: found from the skips, which are few, not from what waits."""
    return QueueSkip.objects.filter(Exists(waiting.filter(pk=OuterRef("step_id"))), by=by)


def _in_line(
    waiting: QuerySet[QueueItem], by: User, order: Order, left: UUID | None, *, backwards: bool
) -> Iterator[tuple[UUID, bool]]:
    """Candidates, the best first, and whether they were skipped before; looked up only as far as they are wanted."""
    fresh = waiting.filter(~_was_skipped(by))
    if order is Order.USEFUL:
        for step_id in useful.in_line(fresh, left, backwards=backwards)[:TRIED]:
            yield step_id, False
    else:
        sort = _reversed(_SORTS[order]) if backwards else _SORTS[order]
        for rows in _beyond(fresh, sort, left):
            for step_id in rows.order_by(*sort).values_list("step_id", flat=True)[:TRIED]:
                yield step_id, False
    for step_id in _skips(by, waiting).order_by("at", "id").values_list("step_id", flat=True)[:TRIED]:
        yield step_id, True


def _beyond(rows: QuerySet[QueueItem], sort: tuple[str, str], left: UUID | None) -> list[QuerySet[QueueItem]]:
    """What follows ``left`` in the order, then everything; only the latter when it is not known where it stood."""
    position = None if left is None else _position(left, sort[0].removeprefix("-"))
    if position is None:
        return [rows]
    column, way = sort[0].removeprefix("-"), "lt" if sort[0].startswith("-") else "gt"
    edge = {f"{column}__{way}e": position}  # bounds the walk through the index; what follows is the exact rule
    following = Q(**{f"{column}__{way}": position}) | Q(**{column: position, f"step_id__{way}": left})
    return [rows.filter(following, **edge), rows]


def _position(step_id: UUID, column: str) -> datetime | int | None:
    """Where a step stands in an order, also after its mark took it out of the queue; None for no such step."""
    if column == "shuffle":
        return place(step_id)
    return Sample.objects.filter(pk=step_id).values_list("observed_at", flat=True).first()


def _reversed(sort: tuple[str, str]) -> tuple[str, str]:
    first, second = (name.removeprefix("-") if name.startswith("-") else f"-{name}" for name in sort)
    return first, second


def _offer(step_id: UUID, order: Order, until: datetime, reason: str = "") -> Offer | None:
    """None when the step was marked a moment ago, in another window."""
    item = QueueItem.objects.filter(pk=step_id).first()
    if item is None:
        return None
    if order is Order.USEFUL and not reason:
        need = useful.need_of(item)
        return Offer(item, order, until, need.reason, need.bin_reason)
    return Offer(item, order, until, reason or _REASONS.get(order, ""))
