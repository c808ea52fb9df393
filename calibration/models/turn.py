"""What became of an agent's claims."""

from django.db import models
from django.db.models import CheckConstraint, F, Index, Q


class TurnOutcome(models.TextChoices):
    """How a person took one answer; the first two kept it."""

    APPROVED = "approved", "Approved"
    REVISED = "revised", "Revised"
    ESCALATED = "escalated", "Handed on"
    ABORTED = "aborted", "Aborted"


KEPT = (TurnOutcome.APPROVED, TurnOutcome.REVISED)


class Turn(models.Model):
    """One answer whose outcome is known; it has the id of its sample. A pending one has no row.

    ``claimed_ppm`` is S, what the agent itself said, in parts per million. ``is_decided``: a person decided on
    the step's escalation, which no mark changes; otherwise the outcome follows the step's marks.
    """

    id = models.UUIDField(primary_key=True)
    agent = models.TextField()
    claimed_ppm = models.IntegerField()
    outcome = models.TextField(choices=TurnOutcome.choices)
    is_decided = models.BooleanField(default=False)
    observed_at = models.DateTimeField()

    class Meta:
        constraints = [
            CheckConstraint(condition=Q(claimed_ppm__gte=0, claimed_ppm__lte=1_000_000), name="turn_claim_in_range"),
            CheckConstraint(condition=Q(outcome__in=TurnOutcome.values), name="turn_outcome_known"),
        ]
        indexes = [Index(F("agent"), F("observed_at").desc(), F("id").desc(), name="turn_latest")]

    def __str__(self) -> str:
        return f"{self.outcome} turn of {self.agent}"
