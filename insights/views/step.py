"""One step: the record of each agent and version that does it, its threshold, and what its evidence shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from calibration.summary import Stage, Summary
from insights import overview, said_shown, thresholds
from insights.charts import reliability, said_against_shown
from insights.orders import orders_of
from insights.query import drawn_width, query_string, stage_of, width_of
from insights.recent import ANSWERS, latest_of, newest_buckets, newest_samples
from insights.views.page import insights_page
from runs.access.roles import role_required
from runs.models import Role, Step
from runs.models.run import STAGES
from runs.views.query import parameters, whole_number

MOST_RECORDS = 25  # on one page
AT_ONCE = 6  # records that stand above the charts, besides the chosen one
WIDTHS = (0.05, 0.1, 0.2, 0.25)


@dataclass(frozen=True)
class Asked:
    """What the address asks for: of which bucket, which stage, in bins of what width, and which page of versions."""

    bucket: int | None
    stage: Stage
    width: float
    page: int = 1

    def query(self, **changes: Any) -> str:
        """The query string with ``changes``; what is the default is left out."""
        given = {"bucket": self.bucket, "stage": self.stage, "width": self.width, **changes}
        plain = {"bucket": None, "stage": "all", "width": drawn_width(), "page": 1}
        return query_string(**{name: value for name, value in given.items() if value != plain[name]})


@role_required(Role.VIEWER)
@require_GET
@parameters("bucket", "stage", "width", "page")
def step(request: HttpRequest, name: str) -> HttpResponse:
    asked = _asked(request)
    buckets = newest_buckets(name)
    if not buckets:
        return _unmeasured(request, name)
    context = {"now": timezone.now(), "name": name, "asked": asked, "stages": STAGES, "widths": _widths(asked)}
    return insights_page(request, "insights/step.html", context | _measured(name, asked, buckets))


def _unmeasured(request: HttpRequest, name: str) -> HttpResponse:
    """A step without a bucket: the branches of a fan-out are measured as their group, others are not measured."""
    group, slash, _branch = name.rpartition("/")
    if slash and newest_buckets(group):
        return redirect("ui-insights-step", name=group)
    if not Step.objects.filter(name=name).exists():
        raise Http404
    return insights_page(request, "insights/step.html", {"now": timezone.now(), "name": name})


def _asked(request: HttpRequest) -> Asked:
    query = request.GET
    bucket = whole_number(query, "bucket") if "bucket" in query else None
    page = whole_number(query, "page", default=1, low=1, high=1_000_000)
    return Asked(bucket, stage_of(query), width_of(query), page)


def _measured(name: str, asked: Asked, buckets: list[int]) -> dict[str, Any]:
    chosen_id = buckets[0] if asked.bucket is None else asked.bucket
    if chosen_id not in buckets:
        raise Http404
    start = (asked.page - 1) * MOST_RECORDS
    listed = {*buckets[start : start + MOST_RECORDS], chosen_id}
    [found] = overview.step_records(
        stage=asked.stage, bin_width=asked.width, n_min=settings.SERVICE.calibration.n_min, bucket_ids=listed
    )
    chosen = next(record for record in found.records if record.summary.bucket_id == chosen_id)
    recent = newest_samples(buckets, limit=ANSWERS)
    latest = latest_of(recent)
    shown = said_shown.compare(said_shown.answers_of(recent))
    explorer = thresholds.explore(chosen.summary, stage=asked.stage, current=latest.get("confidence_threshold"))
    bins = _bins(chosen.summary, asked)
    charts = {
        "reliability-data": chosen.summary.total_n and reliability(chosen.summary, [row["url"] for row in bins]),
        "threshold-data": explorer and explorer.chart(),
        "shown-data": shown and said_against_shown(shown),
    }
    return {
        "found": found,
        **_records(found.records, chosen, asked),
        "versions": _versions(len(buckets), asked),
        "chosen": chosen,
        "bins": bins,
        "answer": chosen.answer,
        "orders": orders_of(chosen_id),
        "n_min": settings.SERVICE.calibration.n_min,
        "latest": latest,
        "explorer": explorer,
        "shown": shown,
        "charts": [(name, data) for name, data in charts.items() if data],
    }


def _records(every: Sequence[overview.Record], chosen: overview.Record, asked: Asked) -> dict[str, Any]:
    """The records in two lists: what stands at once, and the further ones, which open on demand or are asked for."""
    lists: dict[str, Any] = {"records": [], "further": []}
    for n, one in enumerate(every):
        row = {"record": one, "url": f"?{asked.query(bucket=one.summary.bucket_id)}"}
        stands = one is chosen or (asked.page == 1 and n < AT_ONCE)
        lists["records" if stands else "further"].append(row)
    return lists


def _versions(count: int, asked: Asked) -> dict[str, Any]:
    """Which of the step's ``count`` agents and versions this page lists, newest first, and the ways to the others."""
    first, last = (asked.page - 1) * MOST_RECORDS + 1, min(asked.page * MOST_RECORDS, count)
    return {
        "count": count,
        "range": f"{first:,} to {last:,} of {count:,}" if count > MOST_RECORDS and first <= last else "",
        "newer": asked.query(page=asked.page - 1) if asked.page > 1 else None,
        "older": asked.query(page=asked.page + 1) if last < count else None,
    }


def _bins(summary: Summary, asked: Asked) -> list[dict[str, Any]]:
    """The bins, each with the address of the answers in it."""
    samples = reverse("ui-insights-samples")
    return [
        {"bin": one, "url": f"{samples}?{asked.query(bucket=summary.bucket_id)}&bin={index}"}
        for index, one in enumerate(summary.bins)
    ]


def _widths(asked: Asked) -> list[dict[str, Any]]:
    widths = sorted({*WIDTHS, drawn_width(), asked.width})
    return [{"value": width, "label": f"{width * 100:g} points", "here": width == asked.width} for width in widths]
