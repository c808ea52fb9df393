"""One step to be marked, and what is left when there is none."""

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from calibration.models import LabelSource, Mark
from runs.access.preferences import preference_of
from runs.access.roles import role_required
from runs.marking import offers
from runs.marking.history import marks_on_step
from runs.marking.holds import HeldByColleague, NotWaiting
from runs.marking.offers import Offer
from runs.models import Role
from runs.views import marking_facts, marking_trail, marking_work
from runs.views.marking_facts import Facts
from runs.views.marking_query import ORDERS, PARAMETERS, Asked, asked, no_such_step
from runs.views.marking_sight import is_blind
from runs.views.page import page
from runs.views.query import parameters

# Who picks steps by one of these labels knows something of what the machine or a colleague thought of each.
TELLING = {LabelSource.FAILED_CHECK, LabelSource.RUN_MARK}


@dataclass(frozen=True)
class Standing:
    """How a step stands for a marker.

    ``name``: yours (held for you until ``until``), marked (by you, ``own``), held (by a colleague
    until ``until``), gone (out of the queue). ``ever`` is every mark the person made on it, undone
    ones too; ``marks`` are everybody's.
    """

    name: str
    marks: Sequence[Mark]
    ever: Sequence[Mark]
    own: Mark | None = None
    until: dt.datetime | None = None
    offer: Offer | None = None


@role_required(Role.MARKER)
@never_cache  # Back shall show how the step stands now, not how it stood
@require_GET
@parameters(*PARAMETERS)
@asked
def focus(request: HttpRequest, step_id: uuid.UUID, *, asked: Asked) -> HttpResponse:
    now = timezone.now()
    step: Any = marking_work.steps(step_id).first()
    if step is None or step.is_replay is None:
        raise no_such_step(asked)
    stop = marking_trail.visit(request.session, step_id)
    standing = _standing(step_id, user=asked.by, now=now)
    blind = is_blind(request, asked.by, step_id, standing.ever) and asked.filters.label not in TELLING
    if not blind:
        marking_trail.reveal(request.session, step_id)
    before, after = marking_trail.around(request.session, step_id)
    context = {
        "now": now,
        "asked": asked,
        "work": marking_work.work_of(step, blind=blind),
        "standing": standing,
        "stop": stop,
        "blind": blind,
        "prefers_blind": preference_of(asked.by).is_blind,
        "facts": None if blind else _facts(request, step_id, standing.own, standing.marks),
        "last": _last(request, asked),
        "previous": asked.address("ui-marking-step", before) if before else "",
        "following": asked.address("ui-marking-step", after) if after else "",
        **_progress(request, asked, now),
    }
    return page(request, "marking/focus.html", context)


@role_required(Role.MARKER)
@never_cache
@require_GET
@parameters(*PARAMETERS)
@asked
def done(request: HttpRequest, *, asked: Asked) -> HttpResponse:
    """Nothing more to offer: all is done, or what is left is with colleagues."""
    now = timezone.now()
    latest = marking_trail.latest(request.session)
    context = {
        "now": now,
        "asked": asked,
        "last": _last(request, asked),
        "previous": asked.address("ui-marking-step", latest) if latest else "",
        **_progress(request, asked, now),
    }
    return page(request, "marking/done.html", context)


def _standing(step_id: uuid.UUID, *, user: Any, now: dt.datetime) -> Standing:
    """A step that is free is this person's from now on, for a while."""
    marks = list(marks_on_step(step_id))
    ever = [mark for mark in marks if mark.by_id == user.pk]
    own = next((mark for mark in ever if mark.is_current), None)
    if own is not None:
        return Standing("marked", marks, ever, own=own)
    try:
        offer = offers.take(step_id=step_id, by=user, now=now)
    except HeldByColleague as held:
        return Standing("held", marks, ever, until=held.until)
    except NotWaiting:
        return Standing("gone", marks, ever)
    return Standing("yours", marks, ever, until=offer.held_until, offer=offer)


def _progress(request: HttpRequest, asked: Asked, now: dt.datetime) -> dict[str, Any]:
    sitting = marking_trail.marked(request.session)
    remaining = offers.remaining(asked.filters, asked.by, now)
    return {
        "remaining": remaining,
        "sitting": sitting,
        "share_done": sitting / max(1, sitting + remaining.free.n + remaining.held_by_others),
        "order_label": ORDERS[asked.order],
    }


def _last(request: HttpRequest, asked: Asked) -> Facts | None:
    """Of the step marked just before; None once that mark is taken back or replaced."""
    if asked.marked is None:
        return None
    mark = marking_facts.own_mark(asked.marked, asked.by)
    if mark is None or mark.sample_id is None:
        raise Http404
    if not mark.is_current:
        return None
    return _facts(request, mark.sample_id, mark, list(marks_on_step(mark.sample_id)))


def _facts(request: HttpRequest, step_id: uuid.UUID, own: Mark | None, marks: Sequence[Mark]) -> Facts | None:
    return marking_facts.facts_of(step_id, own=own, marks=marks, stop=marking_trail.stop_at(request.session, step_id))
