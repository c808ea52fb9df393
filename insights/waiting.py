"""What waits for a person: steps to decide on, questions to answer, and answers that nobody has marked."""

from collections.abc import Sequence
from dataclasses import dataclass

from runs.escalations import listing
from runs.models import Escalation, QueueItem

SHOWN = 5
# Counting stops here: "1,000+" says enough, and costs the same whatever waits.
COUNTED = 1_000


@dataclass(frozen=True)
class Waiting:
    """``escalations`` are those that have waited longest; the numbers are texts, exact up to COUNTED.

    A run that came in as escalated with a history is not among them: nobody can decide on it here.
    """

    escalations: Sequence[Escalation]
    escalations_count: str
    approvals_count: str
    to_mark_count: str


def waiting() -> Waiting:
    """Three bounded queries."""
    oldest = listing.ESCALATIONS.waiting().order_by("opened_at", "id").select_related("run", "step")[:SHOWN]
    shown = oldest.only("reason", "opened_at", "run__pipeline_name", "step__name")
    to_mark = QueueItem.objects.order_by().values("pk")[: COUNTED + 1].count()
    escalations, approvals = listing.counts_waiting(COUNTED)
    return Waiting(list(shown), _capped(escalations), _capped(approvals), _capped(to_mark))


def _capped(count: int) -> str:
    return f"{count:,}" if count <= COUNTED else f"{COUNTED:,}+"
