"""Which step a marker is given next, and that nobody else is given it meanwhile."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User

from calibration.models import Order
from runs.marking import counting, useful
from runs.marking.counting import Count
from runs.marking.filters import QueueFilters
from runs.marking.holds import for_person, hold, let_go, not_held, refusal
from runs.marking.lines import Line, skips
from runs.models import QueueItem

REMAINING_CAP = 1_000
# How often the line is looked at again when colleagues who ask in the same instant were faster.
LOOKS = 10
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

    free: Count
    skipped: Count
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
    line = Line(by, order, filters, now, after or before, backwards=before is not None)
    for _ in range(LOOKS):
        is_empty = True
        for step_id, is_skipped in line:
            is_empty = False
            until = hold(step_id, by, now, instead_of=line.left)
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
    # First whatever is held, which is little, then which of it matches: SQLite would walk through all that matches.
    held = QueueItem.objects.filter(held_by__isnull=False, held_until__gt=now).exclude(held_by=by)
    held_ids = list(held.values_list("pk", flat=True)[:REMAINING_CAP])
    until = list(mine.filter(pk__in=held_ids).values_list("held_until", flat=True)) if held_ids else []
    return Remaining(
        # In the order of the filters' indexes: a plan made for any value then walks one of them, not the table.
        free=counting.upto(free.order_by("finished_at", "step_id"), REMAINING_CAP),
        skipped=counting.upto(skips(by, free), REMAINING_CAP),
        held_by_others=len(until),
        next_free_at=min((one for one in until if one), default=None),
    )


def _offer(step_id: UUID, order: Order, until: datetime, reason: str = "") -> Offer | None:
    """None when the step was marked a moment ago, in another window."""
    item = QueueItem.objects.filter(pk=step_id).first()
    if item is None:
        return None
    if order is Order.USEFUL and not reason:
        need = useful.need_of(item)
        return Offer(item, order, until, need.reason, need.bin_reason)
    return Offer(item, order, until, reason or _REASONS.get(order, ""))
