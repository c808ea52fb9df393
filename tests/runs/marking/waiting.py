"""Steps that wait for a mark, for the tests of the queue."""

import datetime as dt
from typing import Any

from calibration import buckets
from calibration.buckets import BucketKey
from runs.marking.items import settle
from runs.models import QueueItem, Run
from tests import factories
from tests.factories import NOW


def waiting(
    name: str = "assess",
    *,
    minutes_ago: float = 60,
    of: Run | None = None,
    confidence: float = 0.95,
    check_failed: bool = False,
    is_replay: bool = False,
    agent: str = "command:assess",
    **run: Any,
) -> QueueItem:
    """A step that finished ``minutes_ago`` before NOW, in a run of its own unless ``of`` is given."""
    finished_at = NOW - dt.timedelta(minutes=minutes_ago)
    of = of or factories.run(now=finished_at, **run)
    step = factories.step(of, name, agent=agent)
    buckets.record_sample(
        id=step.id,
        bucket_id=buckets.bucket_id(BucketKey(step=name.partition("/")[0], agent=agent, model="m1")),
        group=of.id,
        stage=of.stage,
        confidence=confidence,
        observed_at=finished_at,
        check_failed=check_failed,
        is_replay=is_replay,
    )
    settle([step.id])
    return QueueItem.objects.get(pk=step.id)
