"""What an operator can do to pipelines: start one, and read the files again."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from calibration.plurals import plural
from runs.access.roles import name_of, role_required
from runs.intake import body
from runs.intake.accept import start
from runs.intake.refusals import Refused
from runs.models import Role
from runs.pipelines import registry
from runs.views.pipeline_page import render_pipeline
from runs.views.query import parameters

SOURCE = "button"


@role_required(Role.OPERATOR)
@require_POST
@parameters(form=("payload",))
def run_now(request: HttpRequest, name: str) -> HttpResponse:
    """Start a run with the payload from the dialog; on a mistake the dialog opens again with what was typed."""
    text = request.POST.get("payload", "")
    try:
        accepted = start(
            pipeline=name,
            payload=body.parse(text.encode("utf-8", "surrogatepass") or b"{}"),
            team="",
            source=SOURCE,
            started_by=name_of(request.user),
            now=timezone.now(),
        )
    except Refused as error:
        return render_pipeline(request, name, payload=text, problem=str(error), status=400)
    if accepted.status == "deduplicated":
        messages.info(request, f"No new run: {accepted.reason} This is the run it repeats.")
    elif accepted.reason:
        messages.warning(request, accepted.reason)
    return redirect("ui-run", run_id=accepted.run_id)


@role_required(Role.OPERATOR)
@require_POST
@parameters()
def reload(request: HttpRequest) -> HttpResponse:
    """Read the files again and say what came of it."""
    report = registry.reload(now=timezone.now())
    text = (
        f"{plural(len(report.loaded), 'file')} read, {len(report.changed)} new or changed, {len(report.removed)} gone."
    )
    if report.problems:
        files = {problem.file for problem in report.problems}
        messages.warning(request, f"{text} {len(files)} with errors: they are listed below.")
    else:
        messages.success(request, f"{text} No errors.")
    return redirect("ui-pipelines")
