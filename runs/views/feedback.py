"""Marking on the run's page: the run as a whole, and each step. Whoever marks here has seen everything."""

import uuid
from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from calibration.labels import CannotUndo, NoSuchSample
from calibration.models import Mark
from runs.access.roles import role_required
from runs.marking import history, marks
from runs.marking.markers import marker_of
from runs.models import Role, Run, Step
from runs.models.run import IN_FLIGHT
from runs.views.judged import judged_run, judged_steps
from runs.views.mark_form import said_in
from runs.views.page import page
from runs.views.query import parameters, whole_number

PAGE = 50
FORM = ("outcome", "note", "from")


@role_required(Role.MARKER)
@require_POST
@parameters(form=FORM)
def mark_step(request: HttpRequest, step_id: uuid.UUID) -> HttpResponse:
    step = get_object_or_404(Step.objects.only("id", "run_id"), id=step_id)
    try:
        marks.mark_step(step_id=step.pk, **_said(request))
    except NoSuchSample as error:
        raise BadRequest("a step without a confidence cannot be marked") from error
    return _step_answer(request, step)


@role_required(Role.MARKER)
@require_POST
@parameters(form=FORM)
def mark_run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    run = get_object_or_404(Run.objects.only("id", "status"), id=run_id)
    if run.status in IN_FLIGHT:
        raise BadRequest("the run has not ended yet")
    marks.mark_run(run_id=run.pk, **_said(request))
    return _run_answer(run.pk)


@role_required(Role.MARKER)
@require_POST
@parameters(form=("from",))
def undo(request: HttpRequest, mark_id: int) -> HttpResponse:
    """Take back one's own mark; one that was replaced meanwhile stays as it is, and the page shows that."""
    mark = get_object_or_404(Mark.objects.only("id", "sample_id", "group"), id=mark_id)
    try:
        marks.undo(mark_id=mark.pk, by=marker_of(request.user), now=timezone.now())
    except CannotUndo as error:
        if not Mark.objects.filter(pk=mark.pk, by_id=request.user.pk).exists():
            raise BadRequest(str(error)) from error
    if mark.sample_id is None:
        return _run_answer(mark.group)
    return _step_answer(request, get_object_or_404(Step.objects.only("id", "run_id"), id=mark.sample_id))


@role_required(Role.VIEWER)
@require_GET
@parameters("after")
def step_marks(request: HttpRequest, step_id: uuid.UUID) -> HttpResponse:
    """Every mark ever made on the step, newest first."""
    step = get_object_or_404(
        Step.objects.only("id", "name", "run_id", "run__pipeline_name").select_related("run"), id=step_id
    )
    return _history(request, history.marks_on_step(step_id), {"run": step.run, "step": step})


@role_required(Role.VIEWER)
@require_GET
@parameters("after")
def run_marks(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Every mark ever made on the run as a whole, newest first."""
    run = get_object_or_404(Run.objects.only("id", "pipeline_name"), id=run_id)
    return _history(request, history.marks_on_run(run_id), {"run": run})


@role_required(Role.VIEWER)
@require_GET
@parameters()
def run_section(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The section of the run as a whole, asked for when a run that somebody watches has ended."""
    run = get_object_or_404(Run.objects.only("id", "status"), id=run_id)
    context = {"run": run, "in_flight": run.status in IN_FLIGHT, "judged": judged_run(run_id, user=request.user)}
    return page(request, "runs/detail.html#run_marks", context)


def _said(request: HttpRequest) -> dict[str, Any]:
    outcome, note = said_in(request)
    return {
        "by": marker_of(request.user),
        "outcome": outcome,
        "note": note,
        "was_blind": False,
        "via": "page",
        "now": timezone.now(),
    }


def _step_answer(request: HttpRequest, step: Step) -> HttpResponse:
    if request.headers.get("HX-Request"):
        judged = judged_steps([step.pk], user=request.user)[step.pk]
        return page(request, "runs/marks.html#section", {"judged": judged})
    pages = (reverse("ui-run", args=[step.run_id]), reverse("ui-step", args=[step.pk]))
    return redirect(f"{_back(request, pages)}#marks-{step.pk}")


def _run_answer(run_id: uuid.UUID | None) -> HttpResponse:
    """The whole page: a mark on the run changes what its steps count as."""
    return redirect(f"{reverse('ui-run', args=[run_id])}#marks-{run_id}")


def _back(request: HttpRequest, pages: tuple[str, str]) -> str:
    """The page that the form stood on."""
    given = request.POST.get("from", "")
    return given if given in pages else pages[0]


def _history(request: HttpRequest, marks: Any, context: dict[str, Any]) -> HttpResponse:
    if after := whole_number(request.GET, "after", default=0):
        last = marks.filter(pk=after).first()
        if last is None:
            raise Http404
        marks = history.before(marks, last)
    found = list(marks[: PAGE + 1])
    context |= {"marks": found[:PAGE], "after": found[PAGE - 1].pk if len(found) > PAGE else None}
    template = "runs/mark_history.html#lines" if request.headers.get("HX-Request") else "runs/mark_history.html"
    return page(request, template, context)
