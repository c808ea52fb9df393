"""One mark for everything under the filters: asked with the exact number first."""

import datetime as dt
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from calibration.models import Outcome
from runs.access.preferences import preference_of
from runs.access.roles import role_required
from runs.marking import bulk as service
from runs.marking.bulk import LIMIT, Selection, SelectionChanged
from runs.models import Role
from runs.moments import utc
from runs.views import marking_made, marking_trail
from runs.views.mark_form import said_in
from runs.views.marking_focus import TELLING
from runs.views.marking_query import PARAMETERS, Asked, asked
from runs.views.page import page
from runs.views.query import parameters


@role_required(Role.MARKER)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@parameters(*PARAMETERS, form=("outcome", "note", "until", "digest"))
@asked
def bulk(request: HttpRequest, *, asked: Asked) -> HttpResponse:
    """Ask how sure the marker is, with the number of steps; mark exactly those once they have said so."""
    if not asked.filters.chosen():
        raise BadRequest("choose what to mark with at least one filter")
    now = timezone.now()
    if request.method != "POST":
        return _ask(request, asked, service.ask(asked.filters, by=asked.by, now=now))
    until = _moment(request.POST.get("until", ""))
    outcome, note = said_in(request)
    try:
        marked = service.confirm(
            asked.filters,
            digest=request.POST.get("digest", ""),
            until=until,
            by=asked.by,
            outcome=outcome,
            note=note,
            was_blind=None if preference_of(asked.by).is_blind and asked.filters.label not in TELLING else False,
            now=now,
        )
    except SelectionChanged as changed:
        return _ask(request, asked, changed.now, changed=True)
    here = marking_made.address(asked, marked)
    marking_trail.remember_bulk(request.session, here)
    return redirect(here)


def _ask(request: HttpRequest, asked: Asked, selection: Selection, *, changed: bool = False) -> HttpResponse:
    context: dict[str, Any] = {
        "asked": asked,
        "selection": selection,
        "until": selection.until.isoformat(),
        "limit": LIMIT,
        "changed": changed,
        "outcomes": Outcome.choices,
    }
    template = "marking/bulk.html#question" if request.headers.get("HX-Request") else "marking/bulk.html"
    return page(request, template, context, status=409 if changed else 200)


def _moment(text: str) -> dt.datetime:
    try:
        moment = parse_datetime(text)
        known = utc(moment) if moment is not None and moment.tzinfo is not None else None
    except ValueError:
        known = None
    if known is None:
        raise BadRequest("until: expected the moment at which the question was asked")
    return known
