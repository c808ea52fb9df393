"""The escalations: what waits for a person, longest first, and what was decided, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from runs.access.roles import role_required
from runs.escalations import listing
from runs.models import Decision, Escalation, Role
from runs.views.page import page
from runs.views.query import parameters
from runs.views.question_lists import Shelf, listed

NAMES = ("pipeline", "step", "agent", "team", "stage", "to", "overdue", "run")
SHELF = Shelf(listing.ESCALATIONS, "ui-escalations", "an escalation", NAMES)


@dataclass(frozen=True)
class Row:
    """``decision`` is the one that closed it, if one did."""

    escalation: Escalation
    decision: Decision | None


@role_required(Role.VIEWER)
@require_GET
@parameters("show", *NAMES, "after")
def escalations(request: HttpRequest) -> HttpResponse:
    shown = listed(request, SHELF)
    if isinstance(shown, HttpResponse):
        return shown
    return page(request, "escalations/list.html", {**shown.context, "rows": _rows(shown.found.rows)})


def _rows(found: Sequence[Escalation]) -> list[Row]:
    decisions = listing.closing(found)
    return [Row(one, decisions.get(one.id)) for one in found]
