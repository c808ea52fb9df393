"""The agents, and for each the steps it runs in and the versions it has had."""

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from insights.agents import agent_names, agents
from insights.bucket_use import recency
from insights.drift import drift_of
from insights.histories import agent_history, record_of
from insights.query import counting
from insights.version_texts import agent_texts
from insights.views import version_page
from insights.views.page import insights_page
from runs.access.roles import role_required
from runs.models import Role
from runs.views.query import parameters, searched, whole_number

PAGE = 50


@role_required(Role.VIEWER)
@require_GET
@parameters("q", "page")
def agent_list(request: HttpRequest) -> HttpResponse:
    contains = searched(request.GET, "q")
    page = whole_number(request.GET, "page", default=1, low=1, high=1_000_000)
    every = agent_names()
    found = [one for one in every if contains.casefold() in one[0].casefold()]
    kept = {"q": contains} if contains else {}
    context = {
        "rows": agents(found[(page - 1) * PAGE : page * PAGE]),
        "any": bool(every),
        "search": len(every) > PAGE // 5,
        "q": contains,
        "newer": urlencode({**kept, "page": str(page - 1)}) if page > 1 else None,
        "older": urlencode({**kept, "page": str(page + 1)}) if len(found) > page * PAGE else None,
    }
    return insights_page(request, "insights/agents/list.html", context)


@role_required(Role.VIEWER)
@require_GET
@parameters()
def steps(request: HttpRequest, name: str) -> HttpResponse:
    """The steps an agent runs in, each with its record."""
    history = agent_history(name, **counting())
    if not history.versions:
        raise Http404
    records = sorted(
        ((one, version.uses[one.bucket_id]) for version in history.versions for one in version.summaries),
        key=lambda row: recency(row[1].last),
        reverse=True,
    )
    context = {
        "agent": name,
        "tab": "steps",
        "drift": drift_of(name),
        "history": history,
        "records": [{"summary": one, "use": use, "record": record_of([one])} for one, use in records[:PAGE]],
        "more": len(records) - PAGE,
    }
    return insights_page(request, "insights/agents/steps.html", context)


@role_required(Role.VIEWER)
@require_GET
@parameters(*version_page.NAMES)
def versions(request: HttpRequest, name: str) -> HttpResponse:
    """What changed in an agent's soul and configuration, and whether it helped."""
    history = agent_history(name, **counting())
    if not history.versions and "version" not in request.GET:
        raise Http404
    context = version_page.history_context(request, history, lambda value: agent_texts(name, value), name="agent")
    return insights_page(request, "insights/agents/versions.html", {"agent": name, "tab": "versions", **context})
