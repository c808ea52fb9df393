"""The history of a step's prompt: every version, what each edit changed, and whether it helped."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from insights.histories import prompt_history
from insights.query import counting
from insights.version_texts import prompt_texts
from insights.views import version_page
from insights.views.page import insights_page
from runs.access.roles import role_required
from runs.models import Role, Step
from runs.views.query import parameters


@role_required(Role.VIEWER)
@require_GET
@parameters(*version_page.NAMES)
def versions(request: HttpRequest, name: str) -> HttpResponse:
    history = prompt_history(name, **counting())
    if not history.versions and not Step.objects.filter(name=name).exists():
        raise Http404
    context = version_page.history_context(request, history, lambda value: prompt_texts(name, value), name="prompt")
    return insights_page(request, "insights/versions/prompts.html", {"step": name, **context})
