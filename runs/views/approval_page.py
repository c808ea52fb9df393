"""One approval: what is asked in full, where it comes from, and what each answer would do."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from runs.access.roles import can, name_of, refusal, role_required
from runs.escalations import listing
from runs.escalations.answering import Answered, answer
from runs.escalations.answers import answers
from runs.escalations.asked import BadDecision
from runs.escalations.deciding import AlreadyClosed
from runs.models import Approval, ApprovalKind, Role
from runs.views.page import page
from runs.views.query import parameters
from runs.views.question_reads import question_of
from runs.views.run_page import panels_of

MESSAGE_HEAD = 20_000
DONE = {"approve": "Approved: the run goes on.", "reject": "Rejected."}


@role_required(Role.VIEWER)
@require_GET
@parameters()
def approval(request: HttpRequest, approval_id: uuid.UUID) -> HttpResponse:
    return _page(request, approval_of(approval_id), {})


@role_required(Role.OPERATOR)
@require_POST
@parameters(form=("answer", "reason"))
def make_answer(request: HttpRequest, approval_id: uuid.UUID) -> HttpResponse:
    """Approve or reject; who comes too late is told who was first."""
    found = approval_of(approval_id)
    given = Answered(request.POST.get("answer", ""), request.POST.get("reason", ""))
    try:
        answer(found.id, given, by=name_of(request.user), now=timezone.now())
    except BadDecision as error:
        return _page(request, found, error.problems, given=given, status=400)
    except AlreadyClosed as error:
        messages.warning(request, f"{error} Your answer was not recorded.")
    else:
        messages.success(request, DONE[given.answer])
    return redirect("ui-approval", approval_id=found.id)


def approval_of(approval_id: uuid.UUID) -> Approval:
    """As ``question_of``."""
    return question_of(Approval, approval_id, back=reverse("ui-approvals"))


def _page(
    request: HttpRequest,
    found: Approval,
    problems: Mapping[str, str],
    *,
    given: Answered | None = None,
    status: int = 200,
) -> HttpResponse:
    is_open = found.closed_at is None
    of_check = found.kind == ApprovalKind.CHECK
    context: dict[str, Any] = {
        "now": timezone.now(),
        "approval": found,
        "run": found.run,
        "message": found.message[:MESSAGE_HEAD],
        "message_cut": len(found.message) > MESSAGE_HEAD,
        # Of a human step there is nothing to see but its question.
        "panel": panels_of(request, found.run, [found.step_id])[0] if of_check else None,
        "next": answers(found, found.run) if is_open else None,
        "problems": problems,
        "given": given,
        "why_not": "" if can(request.user, Role.OPERATOR) else refusal(request.user, Role.OPERATOR),
        "following": None if is_open else listing.APPROVALS.following(),
    }
    return page(request, "approvals/detail.html", context, status=status)
