"""Whether markers agree, and where they do not."""

from django.http import HttpRequest, HttpResponse, QueryDict
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
PAIR = ("first", "second")
SHOW = {"disagreements": "Where they differ", "all": "All that several marked"}


@role_required(Role.VIEWER)
@require_GET
@parameters("step", "show", "first", "second", "page")
def agreement(request: HttpRequest) -> HttpResponse:
    query = request.GET
    names = sorted(Bucket.objects.order_by().values_list("step", flat=True).distinct())
    step, show = one_of(query, "step", names), one_of(query, "show", SHOW) or "disagreements"
    number = whole_number(query, "page", default=1, low=1, high=1_000_000)
    found = reading.agreement(step=step)
    pair = _pair(query, found)
    every = found.answers if show == "all" else found.disagreements
    listed = [one for one in every if pair <= {opinion.by for opinion in one.opinions}]
    shown = listed[(number - 1) * PAGE : number * PAGE]
    kept = {"step": step, "show": show, **{name: query[name] for name in PAIR if query.get(name)}}
    context = {
        "now": timezone.now(),
        "found": found,
        "step": step,
        "names": names,
        "count": len(listed),
        "pair": sorted(pair),
        "rows": _with_runs(shown),
        "shows": [
            {"label": label, "here": key == show, "query": query_string(**{**kept, "show": key})}
            for key, label in SHOW.items()
        ],
        "show": show,
        "window": reading.WINDOW,
        "newer": query_string(**kept, page=number - 1) if number > 1 else None,
        "older": query_string(**kept, page=number + 1) if len(listed) > number * PAGE else None,
    }
    return insights_page(request, "insights/agreement.html", context)


def _pair(query: QueryDict, found: reading.Agreement) -> set[str]:
    """The markers whose common answers are asked for; none for everybody's. Raises BadAddress for one who has none."""
    known = {name for pair in found.pairs for name in (pair.first, pair.second)}
    return {name for name in (one_of(query, place, sorted(known)) for place in PAIR) if name}


def _with_runs(shared: list[reading.Shared]) -> list[dict[str, object]]:
    steps = Step.objects.filter(pk__in=[one.sample_id for one in shared]).select_related("run")
    found = steps.only("id", "run_id", "run__pipeline_name").in_bulk()
    return [{"shared": one, "step": found.get(one.sample_id)} for one in shared]
