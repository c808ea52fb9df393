"""Rows of runs and steps in the states that the engine's tests start from."""

from datetime import UTC, datetime
from typing import Any

from runs.models import PipelineVersion, Run, RunStatus, Step

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def a_run(**fields: Any) -> Run:
    version, _ = PipelineVersion.objects.get_or_create(
        digest="d" * 64, defaults={"name": "triage", "config": {"name": "triage", "steps": []}, "created_at": NOW}
    )
    values = {"pipeline_name": "triage", "stage": "testing", "source": "test", "context": {}, "triggered_at": NOW}
    return Run.objects.create(version=version, **{**values, "status": RunStatus.RUNNING, **fields})


def a_step(run: Run, **fields: Any) -> Step:
    values = {"name": "look", "index": 0, "executor": "command", "created_at": NOW}
    return Step.objects.create(run=run, **{**values, **fields})
