"""Following a run from a terminal."""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from runs.intake import held_up
from runs.models import Run, RunEvent, RunStatus
from runs.models.run import IN_FLIGHT

POLL_SECONDS = 0.2
NOT_PICKED_UP_SECONDS = 10.0


@dataclass(frozen=True)
class NotPickedUp:
    """The run still waits; said once."""

    seconds: float


def follow(run_id: uuid.UUID) -> Iterator[RunEvent | NotPickedUp]:
    """The run's events as they come, oldest first, until it ends or waits for a person."""
    last = 0
    began = time.monotonic()
    told = False
    while True:
        # The status first: a rest seen here has all its events in what is read next.
        status = Run.objects.values_list("status", flat=True).get(id=run_id)
        for event in RunEvent.objects.filter(run_id=run_id, id__gt=last).order_by("id").iterator():
            last = event.pk
            yield event
        if status not in IN_FLIGHT or (status == RunStatus.RUNNING and held_up.questions(run_id)):
            return
        waited = time.monotonic() - began
        if not told and status == RunStatus.QUEUED and waited >= NOT_PICKED_UP_SECONDS:
            told = True
            yield NotPickedUp(waited)
        time.sleep(POLL_SECONDS)
