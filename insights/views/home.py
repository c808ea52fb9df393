"""The overview: how runs go, what waits for a person, which agents claim too much or too little."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from insights import periods
from insights.outcomes import Outcomes, outcomes
from insights.overview import step_records
from insights.query import counting
from insights.standings import step_standings
from insights.waiting import waiting
from runs.access.roles import role_required
from runs.demo.runs import progress
from runs.models import Role, Run, RunStatus
from runs.views.page import page
from runs.views.query import parameters
from runs.views.runs_list import COLUMNS, took
from runs.views.wording import word
from runs.views.zone import wall

RECENT = 8
MISCALIBRATED = 5
# From the ground up: what went well is the base on which the rest stands.
STACKED = ("completed", "stopped", "escalated", "aborted", "failed", "cancelled", "running", "queued")


@parameters()
def root(request: HttpRequest) -> HttpResponse:
    return redirect("ui-home")


@role_required(Role.VIEWER)
@require_GET
@parameters(periods.NAME)
def home(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    period = periods.parse(request.GET, now=now)
    recent = list(Run.objects.only(*COLUMNS).order_by("-id")[:RECENT])
    demo = progress()
    if not recent:
        return page(request, "insights/welcome.html", {"now": now, "demo": demo})
    found = outcomes(period, now=now, zone=timezone.get_current_timezone())
    context = {
        "now": now,
        "period": period,
        "periods": periods.choices(request.GET, period),
        "outcomes": found,
        "chart": _chart(found),
        "legend": _legend(found, period),
        "waiting": waiting(),
        "calibration": _calibration(),
        "demo": demo,
        "recent": [{"run": run, "took": took(run, now)} for run in recent],
    }
    return page(request, "insights/home.html", context)


def _calibration() -> dict[str, Any]:
    """The steps that are farthest off what they claim, each with the record that shows it."""
    counted = counting()
    every = step_standings(**counted)
    flagged = [(step.name, step.flagged) for step in every if step.flagged]
    shown = flagged[:MISCALIBRATED]
    found = step_records(**counted, bucket_ids=[one.bucket_id for _, one in shown]) if shown else []
    records = {step.name: step.records[0] for step in found}
    return {
        "rows": [{"step": name, "in_use": one.in_use, "record": records[name]} for name, one in shown],
        "more": len(flagged) - MISCALIBRATED,
        "validated": any(step.validated for step in every),
        "n_min": counted["n_min"],
    }


def _chart(found: Outcomes) -> dict[str, Any]:
    """Bars for Plotly: where each begins and how long it is, and its runs per status."""
    return {
        "edges": [wall(edge) for edge in found.edges],
        "series": [
            {"status": status, "word": word(status), "counts": [bar.get(status, 0) for bar in found.counts]}
            for status in STACKED
            if found.total.get(status)
        ],
    }


def _legend(found: Outcomes, period: periods.Period) -> list[dict[str, Any]]:
    """The number of runs of each status, with the list behind it."""
    chosen = {} if period.since is None else {"period": period.key}
    return [
        {"status": status, "n": n, "query": urlencode({"status": status, **chosen})}
        for status in STACKED
        if (n := found.total.get(status)) and status in RunStatus.values
    ]
