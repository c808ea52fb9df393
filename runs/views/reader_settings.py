"""What a person sets for themselves: their time zone, and whether they mark blind."""

from itertools import groupby

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from runs.access.preferences import prefer, preference_of, zones
from runs.access.roles import can, role_required
from runs.models import Role
from runs.views.page import page
from runs.views.query import parameters


@role_required(Role.VIEWER)
@require_http_methods(["GET", "POST"])
@parameters(form=("time_zone", "is_blind"))
def settings(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    if request.method == "POST":
        return _save(request, request.user)
    return _show(request, request.user)


def _save(request: HttpRequest, user: User) -> HttpResponse:
    is_blind = request.POST.get("is_blind") == "on" if can(user, Role.MARKER) else None
    try:
        prefer(user=user, time_zone=request.POST.get("time_zone", ""), is_blind=is_blind)
    except ValueError as error:
        return _show(request, user, problem=str(error))
    messages.success(request, "Saved.")
    return redirect("ui-settings")


def _show(request: HttpRequest, user: User, *, problem: str = "") -> HttpResponse:
    context = {
        "preference": preference_of(user),
        "regions": _regions(),
        "local_now": timezone.localtime(),
        "can_mark": can(user, Role.MARKER),
        "problem": problem,
    }
    return page(request, "settings.html", context, status=400 if problem else 200)


def _regions() -> list[tuple[str, list[tuple[str, str]]]]:
    """(region, [(name of the zone, how it is shown)]) for a list to choose from."""
    names = sorted(zones() - {"UTC"})
    return [
        (region, [(name, name.partition("/")[2].replace("_", " ").replace("/", ", ")) for name in of_region])
        for region, of_region in groupby(names, key=lambda name: name.partition("/")[0])
    ]
