"""Pipelines with a schedule, as a reload of their files leaves them."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from runs.models import Pipeline
from runs.pipelines import reloading
from tests.runs.intake_factories import NOW, STEP

HOURLY = {"cron": "0 * * * *", "summary": "The hour is full", "severity": "low", "labels": {"kind": "report"}}


def written(
    folder: Path, name: str = "report", *, stage: str = "production", schedule: Any = HOURLY, **fields: Any
) -> Path:
    """The file of a pipeline; without a schedule if that is None."""
    config = {"name": name, "stage": stage, "steps": [STEP], **fields}
    if schedule is not None:
        config["schedule"] = schedule
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def reload(folder: Path, now: datetime = NOW) -> None:
    outcome = reloading.reload(folder, folder / "steps", now=now)
    assert not [problem for item in outcome.files for problem in item.problems]


def loaded(folder: Path, name: str = "report", *, now: datetime = NOW, **fields: Any) -> Pipeline:
    written(folder, name, **fields)
    reload(folder, now)
    return Pipeline.objects.get(name=name)
