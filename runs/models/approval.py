"""What a person is asked before a run goes on: by a human step, or by a human check of a step."""

from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from runs.ids import new_id
from runs.models.run import Run
from runs.models.step import Step


class ApprovalKind(models.TextChoices):
    STEP = "step", "Step"
    CHECK = "check", "Check"


class ApprovalState(models.TextChoices):
    OPEN = "open", "Waiting"
    APPROVED = "approved", "Approved"
    REJECTED = "rejected", "Rejected"
    TIMED_OUT = "timed_out", "Timed out"
    WITHDRAWN = "withdrawn", "No longer needed"


class Approval(models.Model):
    """One question, answered once. ``due_at`` is when silence counts as no; null waits for as long as it takes."""

    id = models.UUIDField(primary_key=True, default=new_id)
    step = models.ForeignKey(Step, on_delete=models.CASCADE, related_name="approvals", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="approvals")
    kind = models.TextField(choices=ApprovalKind.choices)
    position = models.IntegerField(default=0, help_text="Of a check, among the checks of its step.")
    name = models.TextField(help_text="The step's, or the check's.")
    message = models.TextField(help_text="What is asked.")
    to = models.TextField(default="", blank=True, help_text="The group that is asked.")
    state = models.TextField(choices=ApprovalState.choices, default=ApprovalState.OPEN)
    opened_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.TextField(default="", blank=True)
    reason = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["step", "kind", "position"], name="approval_asked_once"),
            CheckConstraint(condition=Q(state__in=ApprovalState.values), name="approval_state_known"),
        ]
        indexes = [
            Index(fields=["opened_at", "id"], condition=Q(state="open"), name="approval_waiting"),
            Index(fields=["due_at"], condition=Q(state="open", due_at__isnull=False), name="approval_due"),
            Index(fields=["-closed_at", "-id"], condition=~Q(state="open"), name="approval_closed"),
        ]

    def __str__(self) -> str:
        return f"{self.state} approval of {self.name}"
