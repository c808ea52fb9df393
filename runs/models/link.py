"""The one-use links that were made for a decision. Nobody can make the link again from its row."""

from django.db import models
from django.db.models import CheckConstraint, Q

from runs.models.approval import Approval
from runs.models.escalation import Escalation


class DecisionLink(models.Model):
    """One link to one decision. ``digest`` is of its secret; ``tier``: how often an escalation had been handed on."""

    class Action(models.TextChoices):
        APPROVE = "approve", "Approve"
        REJECT = "reject", "Reject"
        ABORT = "abort", "Abort"

    digest = models.TextField(unique=True)
    approval = models.ForeignKey(Approval, on_delete=models.CASCADE, null=True, related_name="links")
    escalation = models.ForeignKey(Escalation, on_delete=models.CASCADE, null=True, related_name="links")
    action = models.TextField(choices=Action.choices)
    tier = models.IntegerField(default=0)
    sent_to = models.TextField()
    without_login = models.BooleanField(help_text="Whether it decides by itself, as the pipeline said at that time.")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            CheckConstraint(condition=Q(action__in=["approve", "reject", "abort"]), name="link_action_known"),
            CheckConstraint(
                condition=Q(approval__isnull=True, escalation__isnull=False)
                | Q(approval__isnull=False, escalation__isnull=True),
                name="link_asks_one_thing",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} by link sent to {self.sent_to}"
