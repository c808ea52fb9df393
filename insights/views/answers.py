"""The agents, and the models behind them, by how their answers went."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from insights import periods
from insights.agents import agent_names
from insights.answers import BY_AGENT, BY_MODEL, agent_rows
from insights.views.page import insights_page
from insights.windows import newest
from runs.access.roles import role_required
from runs.models import Role, Step
from runs.views.query import parameters


@role_required(Role.VIEWER)
@require_GET
@parameters(periods.NAME)
def agents(request: HttpRequest) -> HttpResponse:
    return _page(request, "insights/agents/numbers.html", BY_AGENT)


@role_required(Role.VIEWER)
@require_GET
@parameters(periods.NAME)
def models(request: HttpRequest) -> HttpResponse:
    return _page(request, "insights/models.html", BY_MODEL)


def _page(request: HttpRequest, template: str, by: Sequence[str]) -> HttpResponse:
    now = timezone.now()
    period = periods.parse(request.GET, now=now)
    window = newest(Step.objects.all(), period)
    # An agent whose every step failed has no record yet, and so no page.
    paged = {name for name, _ in agent_names()} if by == BY_AGENT else set()
    context = {
        "now": now,
        "period": period,
        "periods": periods.choices(request.GET, period),
        "window": window,
        "rows": agent_rows(window, by=by),
        "paged": paged,
    }
    return insights_page(request, template, context, section="ui-agents" if by == BY_AGENT else "")
