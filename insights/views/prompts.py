"""The history of a step's prompt: every version, what each edit changed, and whether it helped."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from insights.histories import prompt_history
from insights.version_texts import prompt_texts
from insights.views.page import insights_page
from insights.views.version_page import history_context
from runs.access.roles import role_required
from runs.models import Role, Step


@role_required(Role.VIEWER)
@require_GET
def versions(request: HttpRequest, name: str) -> HttpResponse:
    history = prompt_history(name)
    if not history.versions and not Step.objects.filter(name=name).exists():
        raise Http404
    context = history_context(request, history, lambda value: prompt_texts(name, value), name="prompt")
    return insights_page(request, "insights/versions/prompts.html", {"step": name, **context})
