"""The moments at which schedules have started runs."""

from django.db import models
from django.db.models import UniqueConstraint

from runs.models.run import Run


class Tick(models.Model):
    """Written in the transaction that stores its run, so however many schedulers there are, a tick is one run."""

    pipeline_name = models.TextField()
    due_at = models.DateTimeField()
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="ticks")

    class Meta:
        constraints = [UniqueConstraint(fields=["pipeline_name", "due_at"], name="tick_once")]

    def __str__(self) -> str:
        return f"{self.pipeline_name} {self.due_at:%Y-%m-%d %H:%M}"
