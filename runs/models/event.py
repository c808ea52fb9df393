"""The log of a run, append-only; it feeds the live tail."""

from django.db import models
from django.db.models import Index

from runs.models.run import Run


class RunEvent(models.Model):
    """``kind`` is a dotted name (``step.started``), ``message`` a sentence a person reads."""

    class Level(models.TextChoices):
        INFO = "info", "Info"
        WARNING = "warning", "Warning"
        ERROR = "error", "Error"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events", db_index=False)
    step_name = models.TextField(default="", blank=True)
    at = models.DateTimeField()
    level = models.TextField(choices=Level.choices, default=Level.INFO)
    kind = models.TextField()
    message = models.TextField()
    data = models.JSONField(default=dict)

    class Meta:
        indexes = [Index(fields=["run", "id"], name="event_of_run")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.run_id}"
