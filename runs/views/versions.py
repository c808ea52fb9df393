"""What a version chip leads to: the text that stood behind a hash, and the versions before and after it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from calibration.models import AgentVersion, PromptVersion
from runs.access.roles import role_required
from runs.models import Role
from runs.views.page import page

SIBLINGS = 50
HEAD = 100_000


@dataclass(frozen=True)
class _Kind:
    """``owner`` and ``parameter`` stand in the query, ``owner`` and ``column`` in the table."""

    name: str
    model: Any
    owner: str
    parameter: str
    column: str
    texts: Callable[[Any], list[tuple[str, str]]]


PROMPT = _Kind(
    "prompt", PromptVersion, "step", "hash", "prompt_hash", lambda version: [("The template", version.template)]
)
AGENT = _Kind(
    "agent", AgentVersion, "agent", "version", "version",
    lambda version: [("Its soul", version.soul), ("Its configuration", version.config)],
)  # fmt: skip


@role_required(Role.VIEWER)
@require_GET
def prompt(request: HttpRequest) -> HttpResponse:
    return _page(request, PROMPT)


@role_required(Role.VIEWER)
@require_GET
def agent(request: HttpRequest) -> HttpResponse:
    return _page(request, AGENT)


def _page(request: HttpRequest, kind: _Kind) -> HttpResponse:
    owner, wanted = request.GET.get(kind.owner, ""), request.GET.get(kind.parameter, "")
    if not (owner and wanted):
        raise Http404
    versions = kind.model.objects.filter(**{kind.owner: owner})
    history = list(versions.order_by("-first_seen", "-id")[:SIBLINGS])
    shown = next((version for version in history if getattr(version, kind.column) == wanted), None)
    shown = shown or versions.filter(**{kind.column: wanted}).first()
    texts = [(title, text[:HEAD], len(text)) for title, text in (kind.texts(shown) if shown else ()) if text]
    items = [_entry(version, kind, owner, shown) for version in history]
    context = {"kind": kind.name, "of": owner, "version": shown, "value": wanted[:80], "texts": texts, "history": items}
    return page(request, "runs/version.html", context)


def _entry(version: Any, kind: _Kind, owner: str, shown: Any) -> dict[str, Any]:
    value = getattr(version, kind.column)
    query = urlencode({kind.owner: owner, kind.parameter: value})
    return {"value": value, "item": version, "here": shown is not None and version.pk == shown.pk, "query": query}
