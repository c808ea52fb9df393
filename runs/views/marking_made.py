"""What a marker has marked at once, where each single mark can be taken back."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from calibration.labels import CannotUndo
from calibration.models import Mark
from runs.access.roles import role_required
from runs.marking import bulk, marks
from runs.models import Role, Step
from runs.views.marking_query import PARAMETERS, Asked, asked
from runs.views.page import page
from runs.views.query import NothingThere, parameters, whole_number

PAGE = 50
NAMES = (*PARAMETERS, "first", "last", "after")


@role_required(Role.MARKER)
@never_cache
@require_GET
@parameters(*NAMES)
@asked
def made(request: HttpRequest, *, asked: Asked) -> HttpResponse:
    given = _given(request)
    every = bulk.made_at_once(first=given["first"], last=given["last"], by=asked.by)
    total = every.count()
    if not total:
        text = "You have marked nothing at once here: the address may be mistyped."
        raise NothingThere(text, back=asked.address("ui-marking-queue"), back_label="Marking queue")
    found = list(every.filter(pk__gt=given["after"])[: PAGE + 1])
    steps = Step.objects.filter(pk__in=[mark.sample_id for mark in found[:PAGE]]).select_related("run")
    by_id = steps.only("id", "name", "run_id", "run__pipeline_name", "run__summary").in_bulk()
    context = {
        "now": timezone.now(),
        "asked": asked,
        "total": total,
        "taken_back": every.exclude(undone_at=None).count(),
        "outcome": every.values_list("outcome", flat=True)[0],
        "rows": [{"mark": mark, "step": by_id.get(mark.sample_id)} for mark in found[:PAGE]],
        "here": _query(asked, given),
        "first": _query(asked, given, after=0) if given["after"] else None,
        "older": _query(asked, given, after=found[PAGE - 1].pk) if len(found) > PAGE else None,
    }
    return page(request, "marking/made.html", context)


@role_required(Role.MARKER)
@require_POST
@parameters(*NAMES, form=("mark",))
@asked
def take_back(request: HttpRequest, *, asked: Asked) -> HttpResponse:
    """Undo one of the marks; the others stand."""
    given = _given(request)
    here = redirect(f"{reverse('ui-marking-made')}?{_query(asked, given)}")
    mark: Mark | None = bulk.made_at_once(first=given["first"], last=given["last"], by=asked.by).filter(
        pk=whole_number(request.POST, "mark")
    ).first()  # fmt: skip
    if mark is None:
        text = "You have made no such mark here."
        raise NothingThere(text, back=asked.address("ui-marking-queue"), back_label="Marking queue")
    try:
        marks.undo(mark_id=mark.pk, by=asked.by, now=timezone.now())
    except CannotUndo:  # taken back or replaced already, in another window or by a second press
        return here
    messages.info(request, "That mark is taken back; the others stand.")
    return here


def address(asked: Asked, marked: bulk.Marked) -> str:
    """The page of what was marked just now."""
    return f"{reverse('ui-marking-made')}?{_query(asked, {'first': marked.first, 'last': marked.last, 'after': 0})}"


def _given(request: HttpRequest) -> dict[str, int]:
    """Raises BadAddress."""
    query = request.GET
    return {
        "first": whole_number(query, "first"),
        "last": whole_number(query, "last"),
        "after": whole_number(query, "after", default=0),
    }


def _query(asked: Asked, given: dict[str, int], **changes: int) -> str:
    values: dict[str, Any] = {**asked.chosen(), **given, **changes}
    return urlencode({name: value for name, value in values.items() if name != "after" or value})
