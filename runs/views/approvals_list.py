"""The approvals: what people are asked before a run goes on, longest first, and what they answered, newest first."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from runs.access.roles import role_required
from runs.escalations import listing
from runs.models import Role
from runs.views.page import page
from runs.views.query import parameters
from runs.views.question_lists import Shelf, listed

NAMES = ("pipeline", "step", "agent", "team", "stage", "to", "run")
SHELF = Shelf(listing.APPROVALS, "ui-approvals", "an approval", NAMES)


@role_required(Role.VIEWER)
@require_GET
@parameters("show", *NAMES, "after")
def approvals(request: HttpRequest) -> HttpResponse:
    shown = listed(request, SHELF)
    if isinstance(shown, HttpResponse):
        return shown
    return page(request, "approvals/list.html", {**shown.context, "rows": shown.found.rows})
