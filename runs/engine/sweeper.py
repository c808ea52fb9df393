"""Finding work that nobody is doing: expired leases, unpublished rows, runs without a next step.

Everything is a conditional update, so any number of sweepers may run at once.
"""

import logging
import uuid
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from runs import events, rows
from runs.engine import closing, pauses, turns
from runs.engine.publish import PATIENCE, publish
from runs.engine.work import Work
from runs.models import Run, RunStatus, Step
from runs.models.step import UNFINISHED

logger = logging.getLogger(__name__)

BATCH = 500
# A running run without an unfinished step is between two transactions for milliseconds at most.
STUCK_AFTER = timedelta(seconds=15)


def sweep(*, now: datetime | None = None) -> int:
    """Publish all that is due; how many works that were. ``now`` is the time of the look."""
    now = now or timezone.now()
    closing.end_orphans(now=now)
    works = [*_due_steps(now), *_due_runs(now), *_stuck_runs(now)]
    publish(*works, insist=True)
    return len(works) + turns.call_up_all(now=now)


def _due_steps(now: datetime) -> list[Work]:
    with transaction.atomic():
        due = list(
            Step.objects.select_for_update(skip_locked=True)
            .filter(_begun_or_allowed(), wake_at__lt=now)
            .order_by("wake_at", "id")
            .values_list("id", "run_id", "name", "leased", "lease")[:BATCH]
        )
        if not due:
            return []
        expired = [row for row in due if row[3]]
        # The number rises as the lease ends: the worker that lost it can write nothing more.
        Step.objects.filter(id__in=[row[0] for row in due], wake_at__lt=now).update(
            leased=False, lease=F("lease") + 1, wake_at=now + PATIENCE
        )
        told = [
            events.event(
                run_id,
                "step.interrupted",
                f"The worker that had {name} went silent; another takes it on.",
                now=now,
                step_name=name,
                level="warning",
            )
            for _id, run_id, name, _leased, _lease in expired
        ]
        rows.insert(told)
    for id_, _run, name, _leased, lease in expired:
        logger.warning("lease %s of step %s (%s) ran out", lease, id_, name)
    return [Work("step", row[0]) for row in due]


def _due_runs(now: datetime) -> list[Work]:
    with transaction.atomic():
        ids: list[uuid.UUID] = list(
            Run.objects.select_for_update(skip_locked=True)
            .filter(pauses.allowed(), wake_at__lt=now)
            .order_by("wake_at", "id")
            .values_list("id", flat=True)[:BATCH]
        )
        if ids:
            Run.objects.filter(id__in=ids, wake_at__lt=now).update(wake_at=now + PATIENCE)
    return [Work("run", id_) for id_ in ids]


def _begun_or_allowed() -> Q:
    """Steps, but of a run that is paused none that has not begun, or waits for its turn."""
    if not pauses.in_force():
        return Q()
    called = Q(started_at__isnull=False, turn_asked_at=None)
    return called | Q(run_id__in=Run.objects.filter(pauses.allowed(), status=RunStatus.RUNNING).values("id"))


def _stuck_runs(now: datetime) -> list[Work]:
    unfinished = Step.objects.filter(run_id=OuterRef("id"), status__in=UNFINISHED)
    stuck = Run.objects.filter(
        ~Exists(unfinished), status=RunStatus.RUNNING, started_at__lt=now - STUCK_AFTER, wake_at=None
    )
    ids = list(stuck.order_by("id").values_list("id", flat=True)[:BATCH])
    if ids:
        # Whoever takes one on clears this; until then it is a due run like any other.
        stuck.filter(id__in=ids).update(wake_at=now + PATIENCE)
    return [Work("run", id_) for id_ in ids]
