"""What leaves the house: a message about a run, and each try to send it."""

from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from runs.ids import new_id
from runs.models.run import Run


class DeliveryState(models.TextChoices):
    PENDING = "pending", "Waiting"
    SENDING = "sending", "Under way"
    DELIVERED = "delivered", "Delivered"
    FAILED = "failed", "Failed"
    UNKNOWN = "unknown", "Unknown"
    MUTED = "muted", "Muted"


class DeliveryEvent(models.TextChoices):
    ESCALATE = "escalate", "Escalated"
    ABORT = "abort", "Aborted"
    STOP = "stop", "Stopped"
    NOTIFY = "notify", "Notified"
    FAILURE = "failure", "Step failed"


# A person may have it sent once more.
AGAIN = (DeliveryState.FAILED, DeliveryState.UNKNOWN)
MOST_TRIES = 8


class Delivery(models.Model):
    """Written in the transaction of what it tells about, sent afterwards by any worker.

    ``position`` is its place among the pipeline's notifications of that event. ``due_at`` is when the next try may
    begin, ``wake_at`` when the scheduler looks again, ``lease`` the number of the claim that may write the outcome.
    ``body`` is what is sent, the same on every try.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    step_name = models.TextField()
    event = models.TextField(choices=DeliveryEvent.choices)
    position = models.IntegerField(default=0)
    channel = models.TextField()
    reason = models.TextField(default="", blank=True, help_text="Why it happened, as the run's log says it.")
    to = models.TextField(default="", blank=True, help_text="Whom it is sent to: a host, an address.")
    subject = models.TextField(default="", blank=True)
    body = models.TextField(default="", blank=True)
    state = models.TextField(choices=DeliveryState.choices, default=DeliveryState.PENDING)
    error = models.TextField(default="", blank=True, help_text="Why it was not sent, or the last trouble.")
    tries = models.IntegerField(default=0)
    most_tries = models.IntegerField(default=MOST_TRIES)
    lease = models.IntegerField(default=0)
    created_at = models.DateTimeField()
    prepared_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)
    wake_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [CheckConstraint(condition=Q(state__in=DeliveryState.values), name="delivery_state_known")]
        indexes = [
            Index(fields=["wake_at"], condition=Q(wake_at__isnull=False), name="delivery_due"),
            Index(fields=["run", "id"], name="delivery_of_run"),
        ]

    def __str__(self) -> str:
        return f"{self.event} by {self.channel}: {self.state}"

    @property
    def webhook_id(self) -> str:
        """By which a receiver knows that it has had the message before."""
        return f"msg_{self.id.hex}"


class DeliveryTry(models.Model):
    """One try; without ``ended_at`` nobody knows how it ended, or it is under way."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    number = models.IntegerField()
    at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    duration_ms = models.IntegerField(null=True)
    status_code = models.IntegerField(null=True)
    response = models.TextField(default="", blank=True, help_text="The beginning of the answer.")
    error = models.TextField(default="", blank=True)

    class Meta:
        constraints = [UniqueConstraint(fields=["delivery", "number"], name="delivery_try_numbered")]

    def __str__(self) -> str:
        return f"try {self.number} of {self.delivery_id}"
