"""One pipeline: what it does step by step, how it is started, and how its runs have gone."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Min
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from calibration.models import Bucket
from calibration.plurals import plural
from runs.access.roles import role_required
from runs.engine import pauses
from runs.models import Pipeline, Role, Run, Step
from runs.models.pipeline import DEMO_FILES
from runs.pipelines.definitions import written
from runs.schedules.listing import schedule_for
from runs.views import step_config
from runs.views.page import page
from runs.views.query import parameters
from runs.views.run_payload import proposed
from runs.views.runs_list import COLUMNS, took
from runs.views.schedules import upcoming
from runs.views.wording import percent
from runs.views.zone import wall

RECENT = 10
CHARTED = 100
SOURCE_HEAD = 200_000


@role_required(Role.VIEWER)
@require_GET
@parameters()
def pipeline(request: HttpRequest, name: str) -> HttpResponse:
    return render_pipeline(request, name)


def render_pipeline(
    request: HttpRequest, name: str, *, payload: str | None = None, problem: str = "", status: int = 200
) -> HttpResponse:
    """The page; with ``problem``, the Run now dialog stands open with what was typed and what is wrong with it."""
    now = timezone.now()
    rows = list(Pipeline.objects.filter(name=name).select_related("version").order_by("-present", "file"))
    if not rows:
        raise Http404
    row = next((row for row in rows if row.present and row.version), rows[0])
    config: Mapping[str, Any] = row.version.config if row.version else {}
    recent = list(Run.objects.filter(pipeline_name=name).only(*COLUMNS).order_by("-id")[:CHARTED])
    can_start = row.present and row.version is not None
    scheduled = schedule_for(name, now=now) if can_start and config.get("schedule") else None
    steps = [_step(definition) for definition in written(config)]
    context = {
        "now": now,
        "row": row,
        "is_demo": row.file.startswith(DEMO_FILES),
        "config": config,
        "errors": row.errors if row.present else [],
        "source": row.version.source[:SOURCE_HEAD] if row.version else "",
        "source_chars": len(row.version.source) if row.version else 0,
        "steps": steps,
        "measured": _measured(steps),
        "trigger": _trigger(config.get("trigger")),
        "scheduled": scheduled,
        "upcoming": upcoming(scheduled, now) if scheduled else [],
        "recent": [{"run": run, "took": took(run, now)} for run in recent[:RECENT]],
        "chart": _chart(recent),
        "can_start": can_start,
        "paused": pauses.in_force().get(name),
        "payload": proposed(name, row.version) if payload is None and can_start else payload,
        "again": bool(recent),
        "problem": problem,
    }
    return page(request, "pipelines/detail.html", context, status=status)


def _measured(steps: Sequence[Mapping[str, Any]]) -> set[str]:
    """The names of those that Insights has a page about: an agent has told a confidence there."""
    names = Bucket.objects.filter(step__in=[step["name"] for step in steps]).order_by()
    return set(names.values_list("step", flat=True).distinct())


def _step(definition: Mapping[str, Any]) -> dict[str, Any]:
    executor_config = definition.get("executor_config") or {}
    target = executor_config.get("agent") or executor_config.get("url") or executor_config.get("command") or ""
    return {
        "name": str(definition.get("name", "")),
        "executor": str(definition.get("executor", "")),
        "target": " ".join(map(str, target)) if isinstance(target, list) else str(target),
        "when": definition.get("when") or "",
        "gates": _gates(definition),
        "low": step_config.LOW.get(definition.get("on_low_confidence", "escalate"), ""),
        "threshold": percent(definition.get("confidence_threshold", 0.75)) if step_config.is_gated(definition) else "",
        "written": step_config.written(definition),
    }


def _gates(definition: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(hue, text) of each mechanism that is on."""
    gates = []
    verifier, grounding = definition.get("verifier"), definition.get("grounding")
    if isinstance(verifier, dict):
        gates.append(("v", f"{verifier.get('mode', 'critic')} verifier"))
    calibration = definition.get("calibration")
    if isinstance(calibration, dict) and calibration.get("enforce"):
        gates.append(("c", "calibration enforced"))
    if isinstance(grounding, dict):
        gates.append(("g", "grounding enforced" if grounding.get("enforce") else "grounding in shadow"))
    checks = definition.get("deterministic_checks") or []
    if checks:
        gates.append(("d", plural(len(checks), "check")))
    return gates


def _trigger(trigger: Any) -> list[tuple[str, str]]:
    """What a payload must hold to start it, as (field, condition)."""
    match = trigger.get("match") if isinstance(trigger, dict) else None
    if not isinstance(match, dict):
        return []
    return [(str(field), _condition(wanted)) for field, wanted in match.items()]


def _condition(wanted: Any) -> str:
    if isinstance(wanted, dict) and len(wanted) == 1:
        [(operator, value)] = wanted.items()
        return f"{str(operator).replace('_', ' ')} {step_config.value_text(value)}"
    return f"is {step_config.value_text(wanted)}"


def _chart(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The lowest trust of each recent run, oldest first; runs without any are left out."""
    lowest = dict(
        Step.objects.filter(run_id__in=[run.id for run in runs], combined_trust__isnull=False)
        .values_list("run_id")
        .annotate(lowest=Min("combined_trust"))
        .order_by()
    )
    return [
        {
            "at": wall(run.triggered_at),
            "trust": lowest[run.id],
            "status": run.status,
            "url": reverse("ui-run", args=[run.id]),
        }
        for run in reversed(runs)
        if run.id in lowest
    ]
