"""One escalation: why a person is asked, what the answer rests on, and what each decision would do."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from runs.access.roles import can, name_of, refusal, role_required
from runs.escalations import listing
from runs.escalations.asked import Asked, BadDecision, decide
from runs.escalations.deciding import TooLate
from runs.models import Escalation, Role
from runs.views.changes import shown
from runs.views.escalation_reads import changes_of, escalation_of, groups_known, sight_of
from runs.views.page import page
from runs.views.query import parameters, whole_number

DONE = {
    "approve": "Approved: the run goes on.",
    "escalate": "Handed on. The run keeps waiting.",
    "abort": "Aborted.",
}


@role_required(Role.VIEWER)
@require_GET
@parameters()
def escalation(request: HttpRequest, escalation_id: uuid.UUID) -> HttpResponse:
    return _page(request, escalation_of(escalation_id), {})


@role_required(Role.OPERATOR)
@require_POST
@parameters(form=("decision", "reason", "to", "tier"))
def make_decision(request: HttpRequest, escalation_id: uuid.UUID) -> HttpResponse:
    """Approve, hand on or abort; who comes too late is told who was first."""
    found = escalation_of(escalation_id)
    decision = request.POST.get("decision", "")
    asked = Asked(
        decision=decision,
        reason=request.POST.get("reason", ""),
        to=request.POST.get("to", "") if decision == "escalate" else "",
        tier=whole_number(request.POST, "tier"),
    )
    try:
        decide(found.id, asked, by=name_of(request.user), now=timezone.now())
    except BadDecision as error:
        return _page(request, found, error.problems, asked=asked, status=400)
    except TooLate as error:
        messages.warning(request, f"{error} Your decision was not recorded.")
    else:
        messages.success(request, DONE[decision])
    return redirect("ui-escalation", escalation_id=found.id)


def _page(
    request: HttpRequest,
    found: Escalation,
    problems: Mapping[str, str],
    *,
    asked: Asked | None = None,
    status: int = 200,
) -> HttpResponse:
    is_open = found.closed_at is None
    context: dict[str, Any] = {
        "now": timezone.now(),
        "sight": sight_of(request, found),
        "run": found.run,
        "changes": [] if is_open else shown(changes_of(found)),
        "problems": problems,
        "asked": asked,
        "why_not": "" if can(request.user, Role.OPERATOR) else refusal(request.user, Role.OPERATOR),
        "groups": groups_known(found.run.version.config) if is_open else [],
        "following": None if is_open else listing.ESCALATIONS.following(),
    }
    return page(request, "escalations/detail.html", context, status=status)
