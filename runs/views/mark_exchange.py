"""Taking marks out as a file, and bringing them in: checked first, stored once somebody saw what would change."""

import io
from typing import Any, cast

from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from calibration.plurals import plural
from runs.access.roles import can, role_required
from runs.marking import mark_files
from runs.marking.exporting import exported
from runs.marking.importing import Outcome, import_lines
from runs.models import Role
from runs.views.page import page
from runs.views.query import one_of, parameters

FILE_BYTES = 2_000_000
CONFIRM_SECONDS = 3600
_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


@role_required(Role.MARKER)
@require_GET
@parameters()
def exchange(request: HttpRequest) -> HttpResponse:
    return _page(request)


@role_required(Role.MARKER)
@require_GET
@parameters("form", "marks")
def export(request: HttpRequest) -> HttpResponseBase:
    """All marks as a file, read and sent bit by bit."""
    form = cast(mark_files.Form, one_of(request.GET, "form", mark_files.FORMS) or "csv")
    rows = exported(current_only=one_of(request.GET, "marks", ("all", "current")) == "current")
    name = f"marks-{timezone.localdate():%Y-%m-%d}.{form}"
    return StreamingHttpResponse(
        mark_files.written(rows, form),
        content_type=_TYPES[form],
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@role_required(Role.ADMIN)
@require_POST
@parameters(form=("skip_absent",))
def check(request: HttpRequest) -> HttpResponse:
    """What the file would change. Nothing is stored but in the page, signed, for the button that confirms it."""
    file = request.FILES.get("file")
    if file is None or file.size is None:
        return _page(request, problem="Choose a file first.", status=400)
    if file.size > FILE_BYTES:
        return _page(request, problem=_too_large(file.size), status=413)
    given = {
        "name": str(file.name),
        "text": file.read().decode("utf-8", "surrogateescape"),
        "skip_absent": "skip_absent" in request.POST,
    }
    try:
        outcome = _run(request, given, dry_run=True)
    except mark_files.BadFile as error:
        return _page(request, problem=f"{given['name'][:100]} cannot be read. {error}.", status=400)
    signed = "" if outcome.bad else signing.dumps(given, salt=_salt(request), compress=True)
    return _page(request, outcome=outcome, name=given["name"], signed=signed)


@role_required(Role.ADMIN)
@require_POST
@parameters(form=("checked",))
def import_(request: HttpRequest) -> HttpResponse:
    """Store what ``check`` was shown, by the same person within the hour."""
    try:
        given = signing.loads(request.POST.get("checked", ""), salt=_salt(request), max_age=CONFIRM_SECONDS)
    except signing.BadSignature:
        return _page(request, problem="That check is too old, or not yours. Check the file again.", status=400)
    outcome = _run(request, given, dry_run=False)
    messages.success(request, " ".join(outcome.sentences(foretold=False)))
    if outcome.bad:
        messages.warning(
            request, f"{plural(outcome.bad, 'line')} could no longer be used: {outcome.problems[0].reason}."
        )
    return redirect("ui-marks")


def _run(request: HttpRequest, given: dict[str, Any], *, dry_run: bool) -> Outcome:
    """Raises BadFile."""
    file = io.BytesIO(given["text"].encode("utf-8", "surrogateescape"))
    lines = mark_files.read(file, mark_files.form_of(given["name"]))
    outcome = Outcome()
    for told_so_far in import_lines(
        lines,
        by=request.user.get_username(),
        now=timezone.now(),
        dry_run=dry_run,
        skip_absent=given["skip_absent"],
    ):
        outcome = told_so_far
    return outcome


def _page(
    request: HttpRequest, *, outcome: Outcome | None = None, problem: str = "", status: int = 200, **more: Any
) -> HttpResponse:
    context = {
        "can_import": can(request.user, Role.ADMIN),
        "outcome": outcome,
        "sentences": outcome.sentences(foretold=True) if outcome else [],
        "problem": problem,
        "columns": mark_files.COLUMNS,
        "megabytes": FILE_BYTES // 1_000_000,
        **more,
    }
    return page(request, "marking/exchange.html", context, status=status)


def _salt(request: HttpRequest) -> str:
    return f"marks to import by {request.user.pk}"


def _too_large(size: int) -> str:
    return (
        f"The file has {size / 1_000_000:.1f} MB, a page takes {FILE_BYTES // 1_000_000} MB. "
        "Larger ones go in with: manage.py marks import FILE"
    )
