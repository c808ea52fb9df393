"""What a marker does: begin, mark, skip, move on, undo, look at the scores; each leads to the page that comes next."""

import uuid

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from calibration.labels import CannotUndo, NoSuchSample
from calibration.models import Mark, Order, Sample, Via
from runs.access.preferences import prefer
from runs.access.roles import role_required
from runs.marking import marks, offers
from runs.models import Role
from runs.views import marking_facts, marking_trail
from runs.views.mark_form import said_in
from runs.views.marking_query import PARAMETERS, Asked, asked, is_number, no_such_step
from runs.views.marking_sight import is_blind
from runs.views.query import parameters

FORM = ("outcome", "note", "blind")


@role_required(Role.MARKER)
@require_POST
@parameters(*PARAMETERS)
@asked
def begin(request: HttpRequest, *, asked: Asked) -> HttpResponse:
    """A new sitting, with the first step that is offered."""
    marking_trail.begin(request.session)
    return _offer(request, asked)


@role_required(Role.MARKER)
@require_POST
@parameters(*PARAMETERS)
@asked
def move_on(request: HttpRequest, step_id: uuid.UUID, *, asked: Asked) -> HttpResponse:
    """The step after this one; this one stays unmarked, free for anybody."""
    _find(step_id, asked)
    _, following = marking_trail.around(request.session, step_id)
    if following is not None:
        return redirect(asked.address("ui-marking-step", following))
    return _offer(request, asked, after=step_id)


@role_required(Role.MARKER)
@require_POST
@parameters(*PARAMETERS, form=FORM)
@asked
def mark(request: HttpRequest, step_id: uuid.UUID, *, asked: Asked) -> HttpResponse:
    """Store what the marker thinks, and go on to the next step, with what the machine thought shown beside it."""
    outcome, note = said_in(request)
    own = list(Mark.objects.filter(sample_id=step_id, by=asked.by))
    try:
        made = marks.mark_step(
            step_id=step_id,
            by=asked.by,
            outcome=outcome,
            note=note,
            was_blind="blind" in request.POST and is_blind(request, asked.by, step_id, own),
            via=Via.QUEUE,
            offered_by=marking_trail.stop_at(request.session, step_id).order,
            now=timezone.now(),
        )
    except NoSuchSample as error:
        raise no_such_step(asked) from error
    if not any(earlier.is_current for earlier in own):
        marking_trail.count(request.session, 1)
    return _resume(request, asked, step_id, marked=made.id)


@role_required(Role.MARKER)
@require_POST
@parameters(*PARAMETERS, form=FORM)
@asked
def skip(request: HttpRequest, step_id: uuid.UUID, *, asked: Asked) -> HttpResponse:
    """Leave the step to others, and go on."""
    _find(step_id, asked)
    marks.skip(step_id=step_id, by=asked.by, now=timezone.now())
    return _offer(request, asked, after=step_id)


@role_required(Role.MARKER)
@require_POST
@parameters(*PARAMETERS, form=("mark",))
@asked
def undo(request: HttpRequest, *, asked: Asked) -> HttpResponse:
    """Take back one's own mark, and return to its step."""
    number = request.POST.get("mark", "")
    found = marking_facts.own_mark(int(number), asked.by) if is_number(number) else None
    if found is None or found.sample_id is None:
        raise Http404
    here = redirect(asked.address("ui-marking-step", found.sample_id))
    try:
        marks.undo(mark_id=found.id, by=asked.by, now=timezone.now())
    except CannotUndo:  # taken back or replaced already, in another window or by a second press of the key
        return here
    if found.via == Via.QUEUE:  # the only ones that were counted
        marking_trail.count(request.session, -1)
    messages.info(request, "Your mark is taken back.")
    return here


@role_required(Role.MARKER)
@require_POST
@parameters(*PARAMETERS)
@asked
def reveal(request: HttpRequest, step_id: uuid.UUID, *, asked: Asked) -> HttpResponse:
    """Show what the machine thinks of this step before it is marked."""
    _find(step_id, asked)
    marking_trail.reveal(request.session, step_id)
    return redirect(asked.address("ui-marking-step", step_id, marked=asked.marked))


@role_required(Role.MARKER)
@require_POST
@parameters(*PARAMETERS, form=("blind", "step"))
@asked
def blind(request: HttpRequest, *, asked: Asked) -> HttpResponse:
    """Switch blind marking on or off for oneself, and return to where one was."""
    wanted = request.POST.get("blind", "")
    if wanted not in {"on", "off"}:
        raise BadRequest("blind: expected on or off")
    prefer(user=asked.by, is_blind=wanted == "on")
    if not (step := request.POST.get("step", "")):
        return redirect(asked.address("ui-marking-queue"))
    try:
        here = uuid.UUID(step)
    except ValueError as error:
        raise BadRequest("step: expected the id of a step") from error
    return redirect(asked.address("ui-marking-step", here, marked=asked.marked))


def _find(step_id: uuid.UUID, asked: Asked) -> None:
    """Raises NothingThere for a step that cannot be marked."""
    if not Sample.objects.filter(id=step_id).exists():
        raise no_such_step(asked)


def _resume(request: HttpRequest, asked: Asked, step_id: uuid.UUID, *, marked: int) -> HttpResponse:
    """Back to where one was before going back to ``step_id``, else on to the next."""
    latest = marking_trail.latest(request.session)
    if (
        latest not in (None, step_id)
        and not Mark.objects.filter(sample_id=latest, by=asked.by, is_current=True).exists()
    ):
        return redirect(asked.address("ui-marking-step", latest, marked=marked))
    return _offer(request, asked, after=step_id, marked=marked)


def _offer(
    request: HttpRequest, asked: Asked, *, after: uuid.UUID | None = None, marked: int | None = None
) -> HttpResponse:
    offer = offers.next_item(
        by=asked.by, order=Order(asked.order), filters=asked.filters, now=timezone.now(), after=after
    )
    if offer is None:
        return redirect(asked.address("ui-marking-done", marked=marked))
    marking_trail.offered(request.session, offer)
    return redirect(asked.address("ui-marking-step", offer.step_id, marked=marked))
