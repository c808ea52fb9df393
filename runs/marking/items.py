"""Putting finished steps into the marking queue."""

import random
from datetime import datetime

from calibration import binning
from runs.models import QueueItem, Run, Step


def item_of(step: Step, *, run: Run, bucket_id: int, confidence: float, label_source: str, now: datetime) -> QueueItem:
    """An unsaved queue item for a step that has just finished with a sample. ``confidence`` is the sample's."""
    return QueueItem(
        step_id=step.id,
        run_id=run.id,
        pipeline=run.pipeline_name,
        name=step.name,
        group=step.name.partition("/")[0],
        agent=step.agent,
        team=run.team,
        stage=run.stage,
        label_source=label_source,
        bucket_id=bucket_id,
        confidence_ppm=binning.to_ppm(confidence),
        finished_at=now,
        shuffle=random.getrandbits(31),
    )
