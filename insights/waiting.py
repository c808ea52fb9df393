"""What waits for a person: runs that escalated, and answers that nobody has marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from runs.models import QueueItem, Run, RunStatus

SHOWN = 5
# Counting stops here: "1,000+" says enough, and costs the same whatever waits.
COUNTED = 1_000


@dataclass(frozen=True)
class Waiting:
    """``escalated`` are the newest of those runs; the numbers are texts, exact up to COUNTED."""

    escalated: Sequence[Run]
    escalated_count: str
    to_mark_count: str


def waiting() -> Waiting:
    """Three bounded queries."""
    # A range with both ends the same, in the order of run_status_newest: for an equality, PostgreSQL may rather walk
    # back through every run there is.
    escalated = Run.objects.filter(status__range=(RunStatus.ESCALATED, RunStatus.ESCALATED)).order_by("status", "-id")
    newest = escalated.only("id", "pipeline_name", "reason", "triggered_at")[:SHOWN]
    return Waiting(list(newest), _count(escalated), _count(QueueItem.objects.all()))


def _count(rows: "QuerySet[Any]") -> str:
    n = rows.order_by().values("pk")[: COUNTED + 1].count()
    return f"{n:,}" if n <= COUNTED else f"{COUNTED:,}+"
