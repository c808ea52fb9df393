"""The tokens there are: made on this page, where each is shown once, and taken back after a question."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from runs.access import tokens
from runs.access.roles import name_of, role_required
from runs.models import Role, Team, Token
from runs.views.page import page
from runs.views.query import NothingThere, parameters, searched

SHOWN = 200
TEAMS_OFFERED = 500
# From this many on, a field narrows the list.
SEARCHED_FROM = 20
MEANINGS = {
    Role.INTAKE: "may start runs, nothing else",
    Role.VIEWER: "may also see runs, answers and traces",
    Role.MARKER: "may also judge answers",
    Role.OPERATOR: "may also decide on escalations and start runs by hand",
    Role.ADMIN: "may do everything",
}
BLANK = {"team": "", "name": "", "role": Role.INTAKE.label}


@role_required(Role.ADMIN)
@never_cache
@require_http_methods(["GET", "POST"])
@parameters("q", form=("team", "name", "role", "form"))
def listed(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _make(request)
    return _show(request)


@role_required(Role.ADMIN)
@never_cache
@require_http_methods(["GET", "POST"])
@parameters()
def revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Asks first; what is posted takes the token back."""
    token = Token.objects.filter(pk=token_id).first()
    if token is None:
        raise NothingThere("There is no such token.", back=reverse("ui-tokens"), back_label="All tokens")
    if request.method == "GET" and token.revoked_at is None:
        return page(request, "tokens/revoke.html", {"token": token, "now": timezone.now()}, within=_place())
    if tokens.take_back(token, now=timezone.now(), by=name_of(request.user)):
        messages.success(request, f"The token {token.prefix}… is revoked. Within seconds it is refused everywhere.")
    else:
        messages.info(request, f"The token {token.prefix}… was revoked before.")
    return redirect("ui-tokens")


def _make(request: HttpRequest) -> HttpResponse:
    given = {name: request.POST.get(name, "") for name in BLANK}
    try:
        form = uuid.UUID(request.POST.get("form", ""))
    except ValueError as error:
        raise BadRequest("the form has lost its id; open the page again") from error
    try:
        token, secret = tokens.create(
            team=given["team"],
            name=given["name"],
            role=_role(given["role"]),
            form=form,
            by=name_of(request.user),
            now=timezone.now(),
        )
    except tokens.AlreadyMade as error:
        return _show(request, given={**BLANK, "problem": str(error)}, status=409)
    except tokens.TokenError as error:
        return _show(request, given={**given, "problem": str(error)}, status=400)
    # Answered at once and not after a redirect: what a redirect led to would have to keep the secret.
    return _show(request, made={"token": token, "secret": secret})


def _role(label: str) -> Role:
    for role in Role:
        if role.label == label:
            return role
    raise tokens.TokenError(f"There is no role {label[:40]!r}. Roles: {', '.join(role.label for role in Role)}.")


def _show(
    request: HttpRequest,
    *,
    given: Mapping[str, str] = BLANK,
    made: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    wanted = searched(request.GET, "q")
    count = Token.objects.count()
    rows = list(_found(wanted)[: SHOWN + 1])
    context = {
        "now": timezone.now(),
        "rows": rows[:SHOWN],
        "has_more": len(rows) > SHOWN,
        "shown": SHOWN,
        "count": count,
        "wanted": wanted,
        "searched": wanted or count >= SEARCHED_FROM,
        "given": given,
        "made": made,
        "form": uuid.uuid4(),
        "roles": [(role.label, f"{role.label}: {meaning}") for role, meaning in MEANINGS.items()],
        "teams": list(Team.objects.order_by("name").values_list("name", flat=True)[:TEAMS_OFFERED]),
    }
    return page(request, "tokens/list.html", context, status=status, within=_place())


def _found(wanted: str) -> "QuerySet[Token]":
    """Those that work first, and the newest of them."""
    rows = Token.objects.order_by(F("revoked_at").desc(nulls_first=True), "-created_at", "-id")
    if not wanted:
        return rows
    return rows.filter(Q(team__name__icontains=wanted) | Q(name__icontains=wanted) | Q(prefix__startswith=wanted[:12]))


def _place() -> str:
    return reverse("ui-settings")
