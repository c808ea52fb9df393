"""Finished steps that can be marked, and what was said about them."""

import uuid
from typing import Any

from calibration import buckets
from calibration.buckets import BucketKey
from calibration.models import Mark, Sample
from runs.marking import items
from runs.models import Run, Step
from tests import factories


def markable(run: Run | None = None, name: str = "assess", *, confidence: float = 0.9, **fields: Any) -> Step:
    """A finished step with its sample, waiting in the queue, as the engine leaves it."""
    check_failed = fields.pop("check_failed", False)
    step = factories.step(run or factories.run(), name, effective_confidence=confidence, **fields)
    key = BucketKey(step.name, step.agent, step.model, step.provider, step.prompt_hash, step.agent_version)
    buckets.record_sample(
        id=step.id,
        bucket_id=buckets.bucket_id(key),
        group=step.run_id,
        stage=step.run.stage,
        confidence=confidence,
        observed_at=step.completed_at,
        check_failed=check_failed,
    )
    items.settle([step.id])
    return step


def label(step_id: uuid.UUID) -> tuple[float | None, str]:
    sample = Sample.objects.get(pk=step_id)
    return sample.label, sample.label_source


def said(**where: Any) -> list[tuple[str, str, bool]]:
    """Who said what, oldest first, and whether it counts."""
    marks = Mark.objects.filter(**where).select_related("by").order_by("made_at", "id")
    return [(mark.by.username, mark.outcome, mark.is_current) for mark in marks]
