"""The runs behind a number."""

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from calibration.models import Bucket, LabelSource
from insights import evidence
from insights.evidence import Question
from insights.query import query_string
from insights.views.page import insights_page
from runs.access.roles import role_required
from runs.models import Role
from runs.views.query import parameters

KEY = ("step", "agent", "model", "prompt_hash", "agent_version")


@role_required(Role.VIEWER)
@require_GET
@parameters(*evidence.NAMES)
def samples(request: HttpRequest) -> HttpResponse:
    question = evidence.parse(request.GET)
    buckets = evidence.buckets_of(question)
    if not buckets:
        raise Http404
    rows, after = evidence.rows(question, buckets)
    chosen = question.chosen()
    context = {
        "now": timezone.now(),
        **_whose(question, buckets),
        "question": question,
        "source": LabelSource(question.source).label if question.source else "",
        "count": evidence.count(question, buckets),
        "rows": rows,
        "first": urlencode(chosen),
        "at_first": question.before is None,
        "older": after and urlencode({**chosen, "before": str(after)}),
        "shows": [
            {"label": label, "query": urlencode({**chosen, "show": key}), "here": key == question.show}
            for key, label in evidence.SHOW.items()
        ],
    }
    return insights_page(request, "insights/samples.html", context, section="ui-insights-steps")


def _whose(question: Question, buckets: Sequence[Bucket]) -> dict[str, Any]:
    """What all these answers have in common, and the page that counts them."""
    values = {name: {getattr(one, name) for one in buckets} for name in KEY}
    common = {name: found.pop() if len(found) == 1 else "" for name, found in values.items()}
    return {"common": common, "heading": common["step"] or common["agent"], "back": _back(question, common)}


def _back(question: Question, common: dict[str, str]) -> str:
    parts, step, agent = question.parts, common["step"], common["agent"]
    if question.bucket is None and "version" in parts and agent:
        return reverse("ui-agent-versions", args=[agent])
    if question.bucket is None and "prompt" in parts and step:
        return reverse("ui-prompt-versions", args=[step])
    if question.bucket is None and "step" not in parts and agent:
        return reverse("ui-agent-steps", args=[agent])
    if not step:
        return reverse("ui-insights-steps")
    width = question.chosen().get("width")
    asked = query_string(bucket=question.bucket, stage=question.stage, width=width)
    return reverse("ui-insights-step", args=[step]) + (f"?{asked}" if asked else "")
