"""What the pages of Insights share: the shell of every page, and the way from one of them to the next."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from runs.access.roles import role_required
from runs.models import Role
from runs.views.page import page
from runs.views.query import parameters

# Label and name of each section's address, in the order they are shown; Insights opens on the first.
SECTIONS = (
    ("Steps", "ui-insights-steps"),
    ("Agents", "ui-agents"),
    ("Models", "ui-insights-models"),
    ("Pipelines", "ui-insights-pipelines"),
    ("Agreement", "ui-insights-agreement"),
)


def insights_page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
    section: str = "",
) -> HttpResponse:
    """Render ``template``, which extends ``insights/base.html``, with the sections above it.

    ``section`` names the one that a page belongs to whose address does not begin with the section's.
    """
    sections = [
        {"label": label, "url": reverse(name), "here": name == section or _is_here(request, name)}
        for label, name in SECTIONS
    ]
    context = {"sections": sections, **(context or {})}
    return page(request, template, context, status=status, within=reverse("ui-insights"))


def _is_here(request: HttpRequest, name: str) -> bool:
    address = reverse(name)
    return request.path == address or request.path.startswith(f"{address}/")


@role_required(Role.VIEWER)
@require_GET
@parameters()
def first(request: HttpRequest) -> HttpResponse:
    return redirect(SECTIONS[0][1])
