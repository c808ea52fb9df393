"""The pipelines by how their runs went."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from insights import periods
from insights.pipelines import pipeline_rows
from insights.views.page import insights_page
from insights.windows import newest
from runs.access.roles import role_required
from runs.models import Role, Run
from runs.views.query import parameters


@role_required(Role.VIEWER)
@require_GET
@parameters(periods.NAME)
def pipelines(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    period = periods.parse(request.GET, now=now)
    window = newest(Run.objects.all(), period)
    context = {
        "now": now,
        "period": period,
        "periods": periods.choices(request.GET, period),
        "window": window,
        "rows": pipeline_rows(window),
    }
    return insights_page(request, "insights/pipelines.html", context)
