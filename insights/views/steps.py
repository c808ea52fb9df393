"""Is 90 % really 90 %? Every step, the most miscalibrated first."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from calibration.summary import Stage
from insights import overview
from insights.query import one_of, only_known, query_string, stage_of, whole_number
from insights.views.page import insights_page
from runs.access.roles import role_required
from runs.models import Role
from runs.models.run import STAGES

PAGE = 20
RECORDS = 2  # of each step; its own page has them all
NAMES = ("stage", "agent", "show", "q", "page")


@role_required(Role.VIEWER)
@require_GET
def steps(request: HttpRequest) -> HttpResponse:
    query = request.GET
    only_known(query, NAMES)
    stage = stage_of(query)
    every = records(stage)
    agents = sorted({record.summary.key.agent for step in every for record in step.records})
    chosen = {
        "stage": query.get("stage", ""),
        "agent": one_of(query, "agent", agents),
        "show": one_of(query, "show", overview.SHOW),
        "q": query.get("q", "").strip()[:200],
    }
    found = overview.narrowed(every, agent=chosen["agent"], contains=chosen["q"], show=chosen["show"])
    number = whole_number(query, "page", low=1, high=1_000_000) if query.get("page") else 1
    shown = found[(number - 1) * PAGE : number * PAGE]
    kept = {name: value for name, value in chosen.items() if value}
    context = {
        "now": timezone.now(),
        "steps": [_shown(step) for step in shown],
        "any": bool(every),
        "found": len(found),
        "flagged": sum(step.worst is not None for step in found),
        "chosen": kept,
        "choices": _choices(chosen, agents),
        "kept": query_string(stage=chosen["stage"]),
        "newer": query_string(**kept, page=number - 1) if number > 1 else None,
        "older": query_string(**kept, page=number + 1) if len(found) > number * PAGE else None,
        "n_min": settings.SERVICE.calibration.n_min,
    }  # fmt: skip
    return insights_page(request, "insights/steps.html", context)


def _shown(step: overview.StepRecord) -> dict[str, object]:
    return {"step": step, "records": step.records[:RECORDS], "more": len(step.records) - RECORDS}


def records(stage: Stage) -> list[overview.StepRecord]:
    service = settings.SERVICE.calibration
    return overview.step_records(stage=stage, bin_width=service.bin_width, n_min=service.n_min)


def _choices(chosen: dict[str, str], agents: list[str]) -> list[dict[str, object]]:
    choices: list[dict[str, object]] = [
        {"name": "stage", "label": "Stage", "options": [(stage, stage.capitalize()) for stage in STAGES]},
        {"name": "agent", "label": "Agent", "options": [(agent, agent) for agent in agents]},
        {"name": "show", "label": "Show", "options": list(overview.SHOW.items())},
    ]
    return [{**choice, "chosen": chosen[str(choice["name"])]} for choice in choices]
