"""The page that a one-use link leads to, and making such links by hand."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_http_methods, require_POST

from runs.access.roles import name_of, role_required
from runs.access.throttle import too_often
from runs.escalations import links
from runs.escalations.answers import answers
from runs.escalations.consequences import consequences, proceeds
from runs.escalations.deciding import TooLate
from runs.escalations.links import Opened
from runs.models import Approval, Escalation, Role
from runs.storable import REASON_CHARS
from runs.views.approval_page import approval_of
from runs.views.escalation_reads import escalation_of
from runs.views.page import page
from runs.views.query import parameters

MESSAGE_CHARS = 5_000
# Requests that a link may be guessed or tried with, by one address.
TRIES, WITHIN_SECONDS = 60, 300


@require_http_methods(["GET", "HEAD", "POST"])
@parameters(form=("reason",))
def decision_link(request: HttpRequest, token: str) -> HttpResponse:
    """Shows the question and one button; only the button decides. Needs no login where the pipeline says so."""
    response = _answer(request, token)
    add_never_cache_headers(response)
    response.headers["X-Robots-Tag"] = "noindex"
    return response


def _answer(request: HttpRequest, token: str) -> HttpResponse:
    if request.method == "POST" and too_often(request, "links", most=TRIES, within=WITHIN_SECONDS):
        return _told(request, 429, "Too many tries", "Wait five minutes, and open the link again.")
    now = timezone.now()
    try:
        opened = links.find(token)
    except links.NoSuchLink:
        if too_often(request, "forged-links", most=TRIES, within=WITHIN_SECONDS):
            return _told(request, 429, "Too many tries", "Wait five minutes, and open the link again.")
        detail = "It may be cut off: copy all of it from the message. Or its run was removed. Nothing was decided."
        return _told(request, 404, "This link leads nowhere", detail)
    if not opened.link.without_login:
        return _to_the_page(opened)  # which asks for a login, and says itself what has become of the question
    try:
        if request.method == "POST":
            return _decided(request, opened)
        links.check(opened, now=now)
    except links.LinkUsed as error:
        return _told(request, 410, "This link has been used", f"{error} A link works once.", opened)
    except links.LinkExpired:
        detail = "Its time is over, and nothing was decided by it. Sign in to decide on the page of the question."
        return _told(request, 410, "This link has expired", detail, opened)
    except TooLate as error:
        return _told(request, 409, "Decided already", f"{error} Nothing was changed by this link.", opened)
    return _page(request, opened, "links/decide.html")


def _decided(request: HttpRequest, opened: Opened) -> HttpResponse:
    by = request.user.get_username() if request.user.is_authenticated else ""
    reason = request.POST.get("reason", "")[:REASON_CHARS]
    links.use(opened, by=by, reason=reason, now=timezone.now())
    return _page(request, opened, "links/decided.html")


def _page(request: HttpRequest, opened: Opened, template: str) -> HttpResponse:
    context: dict[str, Any] = {
        "link": opened.link,
        "question": opened.question,
        "run": opened.question.run,
        "message": opened.message[:MESSAGE_CHARS],
        "message_cut": len(opened.message) > MESSAGE_CHARS,
        "then": _then(opened),
        "now": timezone.now(),
    }
    return page(request, template, context)


def _then(opened: Opened) -> str:
    if isinstance(opened.question, Approval):
        return str(getattr(answers(opened.question, opened.question.run), opened.link.action))
    proceed = proceeds(opened.question.step_id)
    return str(getattr(consequences(opened.question, opened.question.run, proceed=proceed), opened.link.action))


def _told(request: HttpRequest, code: int, heading: str, detail: str, opened: Opened | None = None) -> HttpResponse:
    context: dict[str, Any] = {"code": code, "heading": heading, "detail": detail}
    if opened is not None:
        context |= {"back": _to_the_page(opened).url, "back_label": "The question, after signing in"}
    response = page(request, "error_outside.html", context, status=code)
    if code == 429:
        response.headers["Retry-After"] = str(WITHIN_SECONDS)
    return response


def _to_the_page(opened: Opened) -> Any:
    if isinstance(opened.question, Approval):
        return redirect("ui-approval", approval_id=opened.question.id)
    return redirect("ui-escalation", escalation_id=opened.question.id)


@role_required(Role.OPERATOR)
@require_POST
@parameters(form=("sent_to",))
def for_approval(request: HttpRequest, approval_id: uuid.UUID) -> HttpResponse:
    """Make a pair of links to hand to somebody."""
    return _made(request, approval_of(approval_id))


@role_required(Role.OPERATOR)
@require_POST
@parameters(form=("sent_to",))
def for_escalation(request: HttpRequest, escalation_id: uuid.UUID) -> HttpResponse:
    """The same for an escalation."""
    return _made(request, escalation_of(escalation_id))


def _made(request: HttpRequest, question: Any) -> HttpResponse:
    whom = request.POST.get("sent_to", "").strip()
    asked = {"escalation" if isinstance(question, Escalation) else "approval": question}
    now, back = timezone.now(), _to_the_page(Opened(links.DecisionLink(), question))
    if not whom or len(whom) > links.SENT_TO_CHARS:
        messages.error(request, f"Say whom the link is for, in at most {links.SENT_TO_CHARS} characters.")
        return back
    made = links.decision_links(**asked, sent_to=f"{whom} (made by {name_of(request.user)})", now=now)
    if not made:
        messages.warning(request, "Nobody is asked about this any more, so no link was made.")
        return back
    context = {"made": made, "question": question, "run": question.run, "whom": whom, "back": back.url, "now": now}
    response = page(request, "links/made.html", {**context, "rules": links.rules_of(question.run_id)}, within=back.url)
    add_never_cache_headers(response)
    return response
