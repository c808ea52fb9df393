"""The runs list: filters, search by id, pages by key, and rows that stay current without moving."""

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Min
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from runs.access.roles import role_required
from runs.filtering import BadFilter
from runs.models import Pipeline, Role, Run, RunStatus, Step, Team
from runs.models.run import ENDED, STAGES
from runs.views.errors import bad_value
from runs.views.page import page
from runs.views.query import BadAddress, parameters
from runs.views.run_filters import CURSORS, NAMES, PERIODS, Filters, Known, parse
from runs.views.wording import duration, word

PAGE = 50
NEWER_SHOWN = 99
COLUMNS = (
    "id",
    "pipeline_name",
    "stage",
    "team",
    "source",
    "started_by",
    "status",
    "reason",
    "summary",
    "triggered_at",
    "started_at",
    "completed_at",
)
SOURCES_FROM = 500


@dataclass(frozen=True)
class Row:
    """A run as the list shows it; ``lowest_trust`` is that of its weakest step, None where none was gated yet."""

    run: Run
    steps: int
    lowest_trust: float | None
    took: str


@role_required(Role.VIEWER)
@require_GET
@parameters(*NAMES, *CURSORS)
def runs(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    known = _known()
    try:
        filters = parse(request.GET, known)
    except BadFilter as error:
        return bad_value(request, error.problems, back=reverse("ui-runs"), back_label="All runs")
    found, newer, older = _page_of_runs(filters, now)
    if filters.q and len(found) == 1 and not (newer or older):
        return redirect("ui-run", run_id=found[0].id)
    at_top = newer is None
    context = {
        "now": now,
        "filters": filters,
        "choices": _choices(known, filters, _sources()),
        "first": urlencode(filters.chosen()),
        "rows": _rows(found, now),
        "newer": newer,
        "older": older,
        "live": _live(filters, found, at_top=at_top),
        "any_runs": bool(found) or Run.objects.exists(),
        "clear": reverse("ui-runs"),
    }
    return page(request, "runs/list.html", context)


@role_required(Role.VIEWER)
@require_GET
@parameters(*NAMES, "ids", "top")
def rows(request: HttpRequest) -> HttpResponse:
    """The rows named by ``ids`` as they are now, and how many newer runs the same filters would show."""
    now = timezone.now()
    ids = _ids(request.GET.get("ids", ""))
    since = request.GET.get("top", "")
    try:
        filters = parse(request.GET, _known())
        top = uuid.UUID(since) if since else None
    except BadFilter as error:
        raise BadAddress(str(error)) from error
    except ValueError as error:
        raise BadAddress("top must be a run id.") from error
    found = sorted(Run.objects.filter(id__in=ids).only(*COLUMNS), key=lambda run: ids.index(run.id))
    fresh = 0
    if top is not None:
        fresh = len(filters.apply(Run.objects.filter(id__gt=top), now=now).values_list("id")[: NEWER_SHOWN + 1])
    context = {
        "now": now,
        "rows": _rows(found, now),
        "fresh": fresh,
        "fresh_cap": NEWER_SHOWN,
        "first": urlencode(filters.chosen()),
    }
    return page(request, "runs/list.html#refresh", context)


def _known() -> Known:
    return Known(
        pipelines=list(Pipeline.objects.order_by("name").values_list("name", flat=True).distinct()),
        teams=list(Team.objects.order_by("name").values_list("name", flat=True)),
    )


def _page_of_runs(filters: Filters, now: dt.datetime) -> tuple[list[Run], str | None, str | None]:
    """One page newest first, with the query strings of the newer and the older one."""
    matching = filters.apply(Run.objects.only(*COLUMNS), now=now)
    if filters.after:
        found = list(matching.filter(id__gt=filters.after).order_by("id")[: PAGE + 1])
        has_newer, has_older = len(found) > PAGE, True
        found = found[:PAGE][::-1]
    else:
        if filters.before:
            matching = matching.filter(id__lt=filters.before)
        found = list(matching.order_by("-id")[: PAGE + 1])
        has_newer, has_older = filters.before is not None, len(found) > PAGE
        found = found[:PAGE]
    chosen = filters.chosen()
    if not found:
        return found, urlencode(chosen) if has_newer else None, None
    newer = urlencode({**chosen, "after": str(found[0].id)}) if has_newer else None
    older = urlencode({**chosen, "before": str(found[-1].id)}) if has_older else None
    return found, newer, older


def _rows(found: Sequence[Run], now: dt.datetime) -> list[Row]:
    summaries = (
        Step.objects.filter(run_id__in=[run.id for run in found])
        .values("run_id")
        .annotate(steps=Count("id"), lowest=Min("combined_trust"))
        .order_by()
    )
    by_run = {row["run_id"]: (row["steps"], row["lowest"]) for row in summaries}
    rows = []
    for run in found:
        steps, lowest = by_run.get(run.id, (0, None))
        rows.append(Row(run=run, steps=steps, lowest_trust=lowest, took=took(run, now)))
    return rows


def took(run: Run, now: dt.datetime) -> str:
    """How long it has run: to its end, or to now while it is on its way; "" before it starts."""
    if run.started_at is None:
        return ""
    if run.completed_at is not None:
        return duration((run.completed_at - run.started_at).total_seconds())
    return duration((now - run.started_at).total_seconds()) if run.status == RunStatus.RUNNING else ""


def _live(filters: Filters, found: Sequence[Run], *, at_top: bool) -> str:
    """The URL that refreshes what is shown; "" when nothing shown can change and nothing newer belongs here."""
    moving = any(run.status not in ENDED for run in found)
    if not found or not (moving or at_top):
        return ""
    query = {**filters.chosen(), "ids": ",".join(str(run.id) for run in found)}
    if at_top:
        query["top"] = str(found[0].id)
    return f"{reverse('ui-run-rows')}?{urlencode(query)}"


def _ids(text: str) -> list[uuid.UUID]:
    try:
        ids = [uuid.UUID(part) for part in text.split(",") if part]
    except ValueError as error:
        raise BadAddress("ids takes the ids of runs, with commas between them.") from error
    if len(ids) > PAGE:
        raise BadAddress(f"ids takes at most {PAGE}.")
    return ids


def _sources() -> list[str]:
    """The sources of the newest runs: enough to choose from, whatever the history."""
    newest = Run.objects.order_by("-id").values("source")[:SOURCES_FROM]
    return sorted({row["source"] for row in newest})


def _choices(known: Known, filters: Filters, sources: Sequence[str]) -> list[dict[str, Any]]:
    choices: list[dict[str, Any]] = [
        {"name": "status", "label": "Status", "options": [(value, word(value)) for value in RunStatus.values]},
        {"name": "pipeline", "label": "Pipeline", "options": [(name, name) for name in known.pipelines]},
        {"name": "stage", "label": "Stage", "options": [(stage, stage.capitalize()) for stage in STAGES]},
        {"name": "team", "label": "Team", "options": [(name, name) for name in known.teams]},
        {"name": "source", "label": "Source", "options": _with_chosen(sources, filters.source)},
        {"name": "period", "label": "Started", "options": [(key, label) for key, (label, _) in PERIODS.items()]},
    ]
    return [{**choice, "chosen": getattr(filters, choice["name"])} for choice in choices]


def _with_chosen(names: Sequence[str], chosen: str) -> list[tuple[str, str]]:
    """The names as options; one that was asked for stays choosable although no recent run has it."""
    shown = names if not chosen or chosen in names else [chosen, *names]
    return [(name, name) for name in shown]
