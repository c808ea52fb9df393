"""The pages for what went wrong: what happened, and what to do next. JSON for those who did not ask for a page."""

import sys
from collections.abc import Sequence

from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse

from runs.api import errors as api_errors
from runs.engine.transactions import drop_dead_connections
from runs.views.page import page
from runs.views.query import BadAddress, NothingThere

UNKNOWN = "That address asks for something unknown"


def bad_value(request: HttpRequest, problems: Sequence[str], *, back: str, back_label: str) -> HttpResponse:
    """400: names what was not understood and what is allowed."""
    context = {
        "code": 400,
        "heading": UNKNOWN,
        "problems": problems,
        "back": back,
        "back_label": back_label,
    }
    return page(request, "error.html", context, status=400)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not _wants_page(request):
        return api_errors.bad_request(request, exception)
    if isinstance(exception, BadAddress):
        # A page that needs no parameters may still be what the reader is after.
        back = {"back": request.path, "back_label": "This page without them"} if request.method == "GET" else {}
        return _answer(request, 400, UNKNOWN, str(exception), **back)
    return _answer(request, 400, "That request could not be understood", "Go back and try it again.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not _wants_page(request):
        return api_errors.forbidden(request, exception)
    return _answer(request, 403, "You may not do that", str(exception) or "Ask an admin for the role it needs.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    detail = "Open the page again and repeat the action; nothing was changed."
    if not _wants_page(request):
        return api_errors.forbidden(request, PermissionDenied(f"{reason} Send a token, or the page's CSRF token."))
    return _answer(request, 403, "This form is out of date", detail)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not _wants_page(request):
        return api_errors.not_found(request, exception)
    heading = "There is nothing here"
    if isinstance(exception, NothingThere):
        return _answer(request, 404, heading, str(exception), back=exception.back, back_label=exception.back_label)
    return _answer(request, 404, heading, "The address may be mistyped, or what it led to was removed.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Leans on nothing that may be what broke: no database, no session. 503 where it was the database."""
    if not _wants_page(request):
        return api_errors.failed(request)
    # Django calls its handlers while the exception is handled, and tells this one nothing of it.
    if isinstance(sys.exception(), OperationalError):
        return _database_away()
    return HttpResponse(render_to_string("500.html"), status=500)


def _database_away() -> HttpResponse:
    drop_dead_connections()
    return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": "5"})


def _answer(request: HttpRequest, code: int, heading: str, detail: str, **back: str) -> HttpResponse:
    """With a link ``back``, labelled ``back_label``; to the runs where none is given."""
    context = {"code": code, "heading": heading, "detail": detail}
    # A request refused before the sessions were looked at (a host that is not ours) has no user.
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        back = back or {"back": reverse("ui-runs"), "back_label": "All runs"}
        return page(request, "error.html", {**context, **back}, status=code)
    return render(request, "error_outside.html", context, status=code)


def _wants_page(request: HttpRequest) -> bool:
    """Pages for the pages' own paths, and for a browser that strayed; JSON for programs."""
    return request.path == "/" or request.path.startswith("/ui") or "text/html" in request.headers.get("Accept", "")
