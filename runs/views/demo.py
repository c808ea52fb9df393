"""The buttons that make the demo and take it away, and how far it has come."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRefresh

from calibration.plurals import plural
from runs import tasks
from runs.access.roles import role_required
from runs.demo import pipelines
from runs.demo.removal import remove as remove_demo
from runs.demo.runs import progress
from runs.models import Role
from runs.views.page import page
from runs.views.query import parameters


@role_required(Role.OPERATOR)
@require_POST
@parameters()
def make(request: HttpRequest) -> HttpResponse:
    """Ask for the demo, or for the rest of it; a worker makes it in the background."""
    pipelines.stored(now=timezone.now())
    tasks.make_demo.delay()
    return redirect("ui-home")


@role_required(Role.OPERATOR)
@require_POST
@parameters()
def remove(request: HttpRequest) -> HttpResponse:
    messages.success(request, f"The demo is gone: {plural(remove_demo(), 'run')}, with their marks and versions.")
    return redirect("ui-home")


@role_required(Role.VIEWER)
@require_GET
@parameters()
def state(request: HttpRequest) -> HttpResponse:
    """How far the demo has come, as a part of the overview; once it is whole, the page around it is made anew."""
    if not request.headers.get("HX-Request"):
        return redirect("ui-home")
    found = progress()
    if found is None or found.is_whole:
        return HttpResponseClientRefresh()
    return page(request, "demo.html#state", {"demo": found})
