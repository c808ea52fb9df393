"""Whether markers agree, and where they do not."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from calibration.models import Bucket
from insights import agreement as reading
from insights.query import query_string
from insights.views.page import insights_page
from runs.access.roles import role_required
from runs.models import Role, Step
from runs.views.query import one_of, parameters, whole_number

PAGE = 50
SHOW = {"disagreements": "Where they differ", "all": "All that several marked"}


@role_required(Role.VIEWER)
@require_GET
@parameters("step", "show", "page")
def agreement(request: HttpRequest) -> HttpResponse:
    query = request.GET
    names = sorted(Bucket.objects.order_by().values_list("step", flat=True).distinct())
    step, show = one_of(query, "step", names), one_of(query, "show", SHOW) or "disagreements"
    number = whole_number(query, "page", default=1, low=1, high=1_000_000)
    found = reading.agreement(step=step)
    listed = list(found.answers) if show == "all" else found.disagreements
    shown = listed[(number - 1) * PAGE : number * PAGE]
    kept = {"step": step, "show": show}
    context = {
        "now": timezone.now(),
        "found": found,
        "step": step,
        "names": names,
        "rows": _with_runs(shown),
        "shows": [
            {"label": label, "here": key == show, "query": query_string(step=step, show=key)}
            for key, label in SHOW.items()
        ],
        "show": show,
        "window": reading.WINDOW,
        "newer": query_string(**kept, page=number - 1) if number > 1 else None,
        "older": query_string(**kept, page=number + 1) if len(listed) > number * PAGE else None,
    }
    return insights_page(request, "insights/agreement.html", context)


def _with_runs(shared: list[reading.Shared]) -> list[dict[str, object]]:
    steps = Step.objects.filter(pk__in=[one.sample_id for one in shared]).select_related("run")
    found = steps.only("id", "run_id", "run__pipeline_name").in_bulk()
    return [{"shared": one, "step": found.get(one.sample_id)} for one in shared]
