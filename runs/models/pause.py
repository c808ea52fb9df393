"""What people have paused: one pipeline, or everything."""

from django.db import models
from django.db.models import Q, UniqueConstraint


class Pause(models.Model):
    """In force until ``resumed_at`` is set; never deleted, so who paused what and when stays known."""

    pipeline_name = models.TextField(default="", blank=True, help_text="Empty for everything.")
    by = models.TextField()
    reason = models.TextField(default="", blank=True)
    since = models.DateTimeField()
    resumed_at = models.DateTimeField(null=True)
    resumed_by = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            # Of two people who pause the same at the same instant, one is told that the other was quicker.
            UniqueConstraint(fields=["pipeline_name"], condition=Q(resumed_at=None), name="pause_once"),
        ]

    def __str__(self) -> str:
        return f"{self.pipeline_name or 'everything'} since {self.since:%Y-%m-%d %H:%M}"
