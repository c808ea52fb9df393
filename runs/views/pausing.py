"""Pausing and resuming with a button: one pipeline, or everything."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from runs.access.roles import name_of, role_required
from runs.engine import pauses
from runs.models import Role
from runs.views.query import parameters

REASON_CHARS = 1_000


@role_required(Role.OPERATOR)
@require_POST
@parameters(form=("reason",))
def pause_pipeline(request: HttpRequest, name: str) -> HttpResponse:
    """Pause one pipeline, and say so, or say who did before."""
    _pause(request, name)
    return redirect("ui-pipeline", name)


@role_required(Role.OPERATOR)
@require_POST
@parameters()
def resume_pipeline(request: HttpRequest, name: str) -> HttpResponse:
    """Resume one pipeline, and say so, or that there was nothing to resume."""
    _resume(request, name)
    return redirect("ui-pipeline", name)


@role_required(Role.OPERATOR)
@require_POST
@parameters(form=("reason",))
def pause_everything(request: HttpRequest) -> HttpResponse:
    """Pause all pipelines."""
    _pause(request, pauses.EVERYTHING)
    return redirect("ui-pipelines")


@role_required(Role.OPERATOR)
@require_POST
@parameters()
def resume_everything(request: HttpRequest) -> HttpResponse:
    """Resume all pipelines but those that are paused by themselves."""
    _resume(request, pauses.EVERYTHING)
    return redirect("ui-pipelines")


def _pause(request: HttpRequest, name: str) -> None:
    reason = request.POST.get("reason", "")[:REASON_CHARS]
    try:
        pauses.pause(name, by=name_of(request.user), reason=reason, now=timezone.now())
    except pauses.NoSuchPipeline as error:
        raise Http404 from error
    except pauses.AlreadyPaused as error:
        messages.info(request, str(error))
    else:
        messages.success(request, "Paused. Steps under way end; what comes in is stored, and waits.")


def _resume(request: HttpRequest, name: str) -> None:
    try:
        pauses.resume(name, by=name_of(request.user), now=timezone.now())
    except pauses.NotPaused as error:
        messages.info(request, str(error))
    else:
        messages.success(request, "Resumed. What waited goes on now.")
