"""Playing an example for real: reload the pipelines, accept a payload, let the engine run it here."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from runs.engine import drive
from runs.engine.work import Work
from runs.intake import sources
from runs.intake.accept import accept
from runs.models import Run, Step
from runs.pipelines import registry

EXAMPLES = Path(settings.BASE_DIR) / "examples"


def payload(name: str, **changes: Any) -> dict[str, Any]:
    content = json.loads((EXAMPLES / "payloads" / f"{name}.json").read_text(encoding="utf-8"))
    content.pop("idempotency_key", None)
    return content | changes


def play(given: Mapping[str, Any], *, source: str = "generic") -> Run:
    """The run of a payload, at rest."""
    report = registry.reload(now=timezone.now())
    assert report.problems == []
    accepted = accept(
        incoming=sources.read(source, given), team="shop", started_by="test", allow_testing=True, now=timezone.now()
    )
    assert accepted.run_id is not None
    drive.perform(Work("run", accepted.run_id))
    return Run.objects.get(id=accepted.run_id)


def steps(run: Run) -> dict[str, Step]:
    return {step.name: step for step in Step.objects.filter(run=run).order_by("index")}


def signals(step: Step) -> dict[str, Any]:
    return {signal.name: signal for signal in step.signals.all()}
