"""What people said happened."""

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from calibration.models.sample import Sample


class Outcome(models.TextChoices):
    CORRECT = "correct", "Correct"
    PARTIAL = "partial", "Partial"
    INCORRECT = "incorrect", "Incorrect"


class Via(models.TextChoices):
    QUEUE = "queue", "in the marking queue"
    BULK = "bulk", "several at once, in the marking queue"
    PAGE = "page", "on the run's page"
    API = "api", "through the API"
    IMPORT = "import", "imported"
    DEMO = "demo", "made up for the demo"


class Order(models.TextChoices):
    """Which order offered the item; only RANDOM gives an unbiased sample."""

    PICKED = "", "picked by hand"
    OLDEST = "oldest", "oldest first"
    NEWEST = "newest", "newest first"
    USEFUL = "useful", "most useful first"
    RANDOM = "random", "random"


class Mark(models.Model):
    """One person's judgement of a sample or of a whole group (a run).

    Never deleted: a newer mark of the same person on the same thing makes the older one not
    current, and both stay readable as history. An undone one is not current either, and says when
    it was undone. ``was_blind`` is whether the marker had not seen what the machine thinks; null is unknown.
    """

    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="marks")
    sample = models.ForeignKey(Sample, on_delete=models.PROTECT, null=True, related_name="marks")
    group = models.UUIDField(null=True)
    outcome = models.TextField(choices=Outcome.choices)
    note = models.TextField(default="", blank=True)
    made_at = models.DateTimeField()
    is_current = models.BooleanField(default=True)
    undone_at = models.DateTimeField(null=True)
    was_blind = models.BooleanField(null=True)
    via = models.TextField(choices=Via.choices, default=Via.API)
    offered_by = models.TextField(choices=Order.choices, default=Order.PICKED, blank=True)

    class Meta:
        constraints = [
            CheckConstraint(
                condition=Q(sample__isnull=False, group__isnull=True) | Q(sample__isnull=True, group__isnull=False),
                name="mark_on_sample_or_group",
            ),
            # Two browsers of one person cannot both hold the mark that counts.
            UniqueConstraint(
                fields=["by", "sample"],
                condition=Q(is_current=True, sample__isnull=False),
                name="mark_one_current_per_sample",
            ),
            UniqueConstraint(
                fields=["by", "group"],
                condition=Q(is_current=True, group__isnull=False),
                name="mark_one_current_per_group",
            ),
        ]
        indexes = [Index(fields=["group", "is_current"], name="mark_group_current")]

    def __str__(self) -> str:
        return f"{self.outcome} by {self.by_id}"
