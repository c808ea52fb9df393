"""Is 90 % really 90 %? Every step, the most miscalibrated first."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from insights import standings
from insights.overview import step_records
from insights.query import Counting, counting, query_string, stage_of
from insights.views.page import insights_page
from runs.access.roles import role_required
from runs.models import Role
from runs.models.run import STAGES
from runs.views.query import one_of, parameters, searched, whole_number

PAGE = 20
RECORDS = 2  # of each step; its own page has them all


@role_required(Role.VIEWER)
@require_GET
@parameters("stage", "agent", "show", "q", "page")
def steps(request: HttpRequest) -> HttpResponse:
    query = request.GET
    stage = stage_of(query)
    counted = counting(stage)
    every = standings.step_standings(**counted)
    agents = sorted({one.agent for step in every for one in step.buckets})
    chosen = {
        "stage": query.get("stage", ""),
        "agent": one_of(query, "agent", agents),
        "show": one_of(query, "show", standings.SHOW),
        "q": searched(query, "q"),
    }
    found = standings.narrowed(every, agent=chosen["agent"], contains=chosen["q"], show=chosen["show"])
    number = whole_number(query, "page", default=1, low=1, high=1_000_000)
    shown = found[(number - 1) * PAGE : number * PAGE]
    kept = {name: value for name, value in chosen.items() if value}
    context = {
        "now": timezone.now(),
        "steps": _shown(shown, counted),
        "any": bool(every),
        "found": len(found),
        "flagged": sum(step.flagged is not None for step in found),
        "flagged_query": query_string(**{**kept, "show": "flagged"}),
        "chosen": kept,
        "choices": _choices(chosen, agents),
        "kept": query_string(stage=chosen["stage"]),
        "newer": query_string(**kept, page=number - 1) if number > 1 else None,
        "older": query_string(**kept, page=number + 1) if len(found) > number * PAGE else None,
        "n_min": counted["n_min"],
    }  # fmt: skip
    return insights_page(request, "insights/steps.html", context)


def _shown(steps: Sequence[standings.StepStanding], counted: Counting) -> list[dict[str, Any]]:
    """Each step with the records of its first few buckets."""
    ids = [one.bucket_id for step in steps for one in step.buckets[:RECORDS]]
    found = {step.name: step for step in step_records(**counted, bucket_ids=ids)}
    return [{"standing": step, "step": found[step.name], "more": len(step.buckets) - RECORDS} for step in steps]


def _choices(chosen: dict[str, str], agents: list[str]) -> list[dict[str, object]]:
    choices: list[dict[str, object]] = [
        {"name": "stage", "label": "Stage", "options": [(stage, stage.capitalize()) for stage in STAGES]},
        {"name": "agent", "label": "Agent", "options": [(agent, agent) for agent in agents]},
        {"name": "show", "label": "Show", "options": list(standings.SHOW.items())},
    ]
    return [{**choice, "chosen": chosen[str(choice["name"])]} for choice in choices]
