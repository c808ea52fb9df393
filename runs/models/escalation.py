"""A step that waits for a person's decision, and what people decided."""

from django.db import models
from django.db.models import CheckConstraint, Index, Q

from runs.ids import new_id
from runs.models.run import Run
from runs.models.step import Step


class EscalationState(models.TextChoices):
    OPEN = "open", "Waiting"
    APPROVED = "approved", "Approved"
    REVISED = "revised", "Revised"
    ABORTED = "aborted", "Aborted"
    TIMED_OUT = "timed_out", "Timed out"
    WITHDRAWN = "withdrawn", "No longer needed"


# A person let the step pass.
PASSED = (EscalationState.APPROVED, EscalationState.REVISED)


class Escalation(models.Model):
    """Opened with the step's escalation, closed by the one decision that ends it; handing it on keeps it open.

    ``due_at`` is when silence ends the run or is logged (``on_timeout``); silence never approves anything.
    ``overdue_since`` is the deadline that passed without a decision while it keeps waiting.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    step = models.OneToOneField(Step, on_delete=models.CASCADE, related_name="escalation")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="escalations")
    state = models.TextField(choices=EscalationState.choices, default=EscalationState.OPEN)
    reason = models.TextField(default="", blank=True, help_text="Why a person is asked.")
    to = models.TextField(default="", blank=True, help_text="The group that is asked now.")
    tier = models.IntegerField(default=0, help_text="How often it was handed on.")
    opened_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)
    overdue_since = models.DateTimeField(null=True)
    on_timeout = models.TextField(default="keep")
    closed_at = models.DateTimeField(null=True)
    closed_by = models.TextField(default="", blank=True)

    class Meta:
        constraints = [CheckConstraint(condition=Q(state__in=EscalationState.values), name="escalation_state_known")]
        indexes = [
            Index(fields=["opened_at", "id"], condition=Q(state="open"), name="escalation_waiting"),
            Index(fields=["due_at"], condition=Q(state="open", due_at__isnull=False), name="escalation_due"),
            Index(fields=["-closed_at", "-id"], condition=Q(closed_at__isnull=False), name="escalation_closed"),
        ]

    def __str__(self) -> str:
        return f"{self.state} escalation of {self.step_id}"


class Decision(models.Model):
    """One thing a person (or a deadline) said about an escalation; append-only.

    ``changes``: ``{field: [before, after]}`` of a revision, a side left out where there was or is no such field.
    """

    class Kind(models.TextChoices):
        APPROVE = "approve", "Approved"
        REVISE = "revise", "Revised"
        ESCALATE = "escalate", "Handed on"
        ABORT = "abort", "Aborted"
        TIMEOUT = "timeout", "Nobody answered in time"

    escalation = models.ForeignKey(Escalation, on_delete=models.CASCADE, related_name="decisions")
    kind = models.TextField(choices=Kind.choices)
    by = models.TextField()
    reason = models.TextField(default="", blank=True)
    to = models.TextField(default="", blank=True, help_text="Whom it was handed on to.")
    changes = models.JSONField(null=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.kind} by {self.by}"
