import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from runs.access.roles import name_of, role_required
from runs.engine.closing import cancel as cancel_run
from runs.models import Role, Run
from runs.views.query import parameters


@role_required(Role.OPERATOR)
@require_POST
@parameters()
def cancel(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Cancel the run, and say so, or say that it had ended before."""
    get_object_or_404(Run.objects.only("id"), id=run_id)
    if cancel_run(run_id=run_id, by=name_of(request.user), now=timezone.now()):
        messages.success(
            request, "The run is cancelled. What was waiting will not start; running agents are told to stop."
        )
    else:
        messages.info(request, "The run had ended before it could be cancelled.")
    return redirect("ui-run", run_id=run_id)
