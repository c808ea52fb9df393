"""The runs behind a number."""

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from insights import evidence
from insights.query import query_string
from insights.views.page import insights_page
from runs.access.roles import role_required
from runs.models import Role
from runs.views.query import parameters


@role_required(Role.VIEWER)
@require_GET
@parameters(*evidence.NAMES)
def samples(request: HttpRequest) -> HttpResponse:
    question = evidence.parse(request.GET)
    bucket = evidence.bucket(question.bucket)
    if bucket is None:
        raise Http404
    rows, after = evidence.rows(question)
    chosen = question.chosen()
    context = {
        "now": timezone.now(),
        "bucket": bucket,
        "question": question,
        "rows": rows,
        "first": query_string(**chosen),
        "at_first": question.before is None,
        "older": after and query_string(**chosen, before=after),
        "whole": query_string(bucket=bucket.pk, stage=question.stage, width=chosen.get("width")),
        "shows": [
            {"label": label, "query": query_string(**{**chosen, "show": key}), "here": key == question.show}
            for key, label in evidence.SHOW.items()
        ],
    }
    return insights_page(request, "insights/samples.html", context, section="ui-insights-steps")
