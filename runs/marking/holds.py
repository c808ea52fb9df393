"""Who has a waiting step in front of them, so that nobody else is given it meanwhile."""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from runs.models import QueueItem


class NotWaiting(LookupError):
    """This step does not wait for a mark (of this person): it was marked, or never could be."""


class HeldByColleague(Exception):
    """Somebody else has it in front of them; ``until`` is when it is free at the latest."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"held until {until}")
        self.until = until


def for_person(by: User) -> Q:
    """What this person can be asked: not what they have marked and a second opinion is wanted on."""
    return Q(first_marker=None) | ~Q(first_marker=by)


def not_held(by: User, now: datetime) -> Q:
    """What nobody else has in front of them."""
    return Q(held_until=None) | Q(held_until__lte=now) | Q(held_by=by)


def hold(step_id: UUID, by: User, now: datetime, *, instead_of: UUID | None = None) -> datetime | None:
    """Give the step to ``by``; until when, or None when it is somebody else's, or gone.

    One conditional update, so of two people exactly one gets it, on either database. The step they
    had ``instead_of`` it is free then.
    """
    until = now + timedelta(minutes=settings.SERVICE.marking.hold_minutes)
    free = QueueItem.objects.filter(for_person(by), not_held(by, now), pk=step_id)
    with transaction.atomic():
        if not free.update(held_by=by, held_until=until):
            return None
        if instead_of is not None and instead_of != step_id:
            let_go(step_id=instead_of, by=by)
    return until


def let_go(*, step_id: UUID, by: User) -> None:
    """Free a step that ``by`` holds; one that they do not hold stays as it is."""
    with transaction.atomic(savepoint=False):
        QueueItem.objects.filter(pk=step_id, held_by=by).update(held_by=None, held_until=None)


def refusal(step_id: UUID, by: User) -> HeldByColleague | NotWaiting:
    """Why ``hold`` gave nothing."""
    item = QueueItem.objects.filter(for_person(by), pk=step_id).first()
    if item is None or item.held_until is None:
        return NotWaiting(f"step {step_id} does not wait for a mark")
    return HeldByColleague(item.held_until)
