"""What a version chip leads to: the text that stood behind a hash, and the versions before and after it."""

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


@role_required(Role.VIEWER)
@require_GET
def prompt(request: HttpRequest) -> HttpResponse:
    step, wanted = request.GET.get("step", ""), request.GET.get("hash", "")
    history = list(PromptVersion.objects.filter(step=step).order_by("-first_seen", "-id")[:SIBLINGS])
    shown = _pick(history, "prompt_hash", wanted)
    if shown is None:
        shown = PromptVersion.objects.filter(step=step, prompt_hash=wanted).first()
    if not (step and wanted):
        raise Http404
    texts = [("The template", shown.template[:HEAD], len(shown.template))] if shown else []
    items = [_entry(item, item.prompt_hash, shown, {"step": step, "hash": item.prompt_hash}) for item in history]
    context = {"kind": "prompt", "of": step, "version": shown, "value": wanted[:80], "texts": texts, "history": items}
    return page(request, "runs/version.html", context)


@role_required(Role.VIEWER)
@require_GET
def agent(request: HttpRequest) -> HttpResponse:
    name, wanted = request.GET.get("agent", ""), request.GET.get("version", "")
    history = list(AgentVersion.objects.filter(agent=name).order_by("-first_seen", "-id")[:SIBLINGS])
    shown = _pick(history, "version", wanted)
    if shown is None:
        shown = AgentVersion.objects.filter(agent=name, version=wanted).first()
    if not (name and wanted):
        raise Http404
    parts = (("Its soul", shown.soul), ("Its configuration", shown.config)) if shown else ()
    texts = [(title, text[:HEAD], len(text)) for title, text in parts if text]
    items = [_entry(item, item.version, shown, {"agent": name, "version": item.version}) for item in history]
    context = {"kind": "agent", "of": name, "version": shown, "value": wanted[:80], "texts": texts, "history": items}
    return page(request, "runs/version.html", context)


def _entry(item: Any, value: str, shown: Any, query: dict[str, str]) -> dict[str, Any]:
    return {"value": value, "item": item, "here": shown is not None and item.pk == shown.pk, "query": urlencode(query)}


def _pick(history: list[Any], field: str, wanted: str) -> Any:
    return next((item for item in history if getattr(item, field) == wanted), None)
