"""What every page shares: the shell's navigation, the reader's role, and the one reading of the clock."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from runs.access.roles import role_of
from runs.engine import pauses
from runs.escalations import listing
from runs.models import Pause, Role

# Label, name of the address, key, icon.
NAVIGATION = (
    ("Overview", "ui-home", "o", "overview"),
    ("Runs", "ui-runs", "r", "runs"),
    ("Escalations", "ui-escalations", "e", "escalations"),
    ("Approvals", "ui-approvals", "a", "approvals"),
    ("Marking", "ui-marking-queue", "m", "marking"),
    ("Pipelines", "ui-pipelines", "p", "pipelines"),
    ("Insights", "ui-insights", "i", "insights"),
)


def _badges() -> dict[str, Callable[[], str]]:
    """How many of each wait, "" for none: one query for all, made only where the navigation is drawn."""
    counts = cache(listing.counts_waiting)
    return {
        "ui-escalations": lambda: _capped(counts()[0]),
        "ui-approvals": lambda: _capped(counts()[1]),
    }


def _capped(count: int) -> str:
    return f"{listing.BADGE}+" if count > listing.BADGE else str(count or "")


def _everything_paused() -> Pause | None:
    """Asked where the shell is drawn; a query once a second in each process."""
    return pauses.in_force().get(pauses.EVERYTHING)


def page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
    within: str | None = None,
) -> HttpResponse:
    """Render ``template`` inside the shell. ``now`` may be given by the view, so that page and data agree.

    ``within`` is the address whose place in the navigation the page has, where that is not its own.
    """
    role = role_of(request.user)
    place = within or request.path
    badges = _badges() if role is not None else {}
    shell = {
        "nav": [
            {
                "label": label,
                "url": reverse(name),
                "key": key,
                "icon": icon,
                "here": _is_here(place, reverse(name)),
                "badge": badges.get(name),
            }
            for label, name, key, icon in NAVIGATION
        ],
        "role_name": role.label if role is not None else "no role",
        "can_mark": role is not None and role >= Role.MARKER,
        "can_operate": role is not None and role >= Role.OPERATOR,
        "everything_paused": _everything_paused if role is not None else None,
        "is_admin": role is Role.ADMIN,
        "now": timezone.now(),
    }
    return render(request, template, {**shell, **(context or {})}, status=status)


def _is_here(path: str, address: str) -> bool:
    """Whether the page belongs to the entry that leads to ``address``; every page lies below the overview's."""
    return path == address or (not address.endswith("/") and path.startswith(address))
