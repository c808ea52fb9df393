"""Running a finished run again from one of its steps: what would be taken over, which version, and the start."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from runs.access.roles import name_of, role_required
from runs.intake.refusals import Refused
from runs.intake.rerun import VERSIONS, CannotRerun, Version, prepare, rerun
from runs.models import Role, Run
from runs.views.page import page
from runs.views.query import BadAddress, one_of, parameters

NAMES_SHOWN = 12
LABELS = {"same": "The version it executed", "current": "The pipeline as it is now"}


@dataclass(frozen=True)
class Choice:
    """A version to run again with, or why that cannot be."""

    key: Version
    label: str
    refusal: str = ""
    version: str = ""
    stage: str = ""
    taken: str = ""
    again: str = ""


@role_required(Role.OPERATOR)
@require_http_methods(["GET", "POST"])
@parameters("from", form=("from", "version"))
def run_again(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Ask which version; start it; on a refusal ask again with the reason."""
    run = get_object_or_404(Run.objects.only("id", "pipeline_name"), id=run_id)
    if request.method == "GET":
        return _ask(request, run, request.GET.get("from", ""))
    from_step = request.POST.get("from", "")
    version = one_of(request.POST, "version", VERSIONS)
    if not version:
        raise BadAddress(f"version is missing. Allowed: {', '.join(VERSIONS)}.")
    try:
        started = rerun(
            run_id,
            from_step=from_step,
            version="current" if version == "current" else "same",
            by=name_of(request.user),
            now=timezone.now(),
        )
    except (CannotRerun, Refused) as error:
        return _ask(request, run, from_step, problem=str(error))
    if started.reason:
        messages.warning(request, started.reason)
    return redirect("ui-run", run_id=started.run_id)


def _ask(request: HttpRequest, run: Run, from_step: str, *, problem: str = "") -> HttpResponse:
    choices = [_choice(run, from_step, version) for version in VERSIONS]
    context = {
        "run": run,
        "from_step": from_step,
        "choices": choices,
        "chosen": next((choice.key for choice in choices if not choice.refusal), ""),
        "problem": problem,
    }
    return page(request, "runs/rerun.html", context, status=400 if problem else 200)


def _choice(run: Run, from_step: str, version: Version) -> Choice:
    try:
        found = prepare(run.id, from_step=from_step, version=version)
    except CannotRerun as error:
        return Choice(version, LABELS[version], refusal=str(error))
    return Choice(
        version,
        LABELS[version],
        version=found.version.digest,
        stage=found.pipeline.stage,
        taken=_shown(found.names_taken),
        again=_shown(found.names_again),
    )


def _shown(names: Sequence[str]) -> str:
    left = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {left} more" if left > 0 else "")
