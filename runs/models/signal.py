"""One row per verifier call, grounding call and check."""

from django.db import models
from django.db.models import UniqueConstraint

from runs.ids import new_id
from runs.models.step import Step


class SignalKind(models.TextChoices):
    VERIFIER = "verifier", "Verifier"
    GROUNDING = "grounding", "Grounding"
    CHECK = "check", "Check"


class SignalState(models.TextChoices):
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    SKIPPED = "skipped", "Not triggered"


class Signal(models.Model):
    """``score`` for a verifier or grounding, ``passed`` for a check; null when there is none.

    Written when it has ended, under the lease of its step; a step that is judging and has no row
    yet is still gathering it. A state of failed means the signal was wanted and could not be had:
    ``error`` says why, and whatever the judge did say is kept in ``raw_output``.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    step = models.ForeignKey(Step, on_delete=models.CASCADE, related_name="signals", db_index=False)
    iteration = models.IntegerField(default=0)
    kind = models.TextField(choices=SignalKind.choices)
    position = models.IntegerField(default=0)
    name = models.TextField(default="", blank=True)
    state = models.TextField(choices=SignalState.choices)
    score = models.FloatField(null=True)
    passed = models.BooleanField(null=True)
    detail = models.JSONField(default=dict, help_text="claims, warnings, a check's result; see runs.signals.base.")
    error = models.TextField(default="", blank=True)
    prompt = models.TextField(default="", blank=True)
    raw_output = models.TextField(default="", blank=True)
    agent = models.TextField(default="", blank=True)
    model = models.TextField(default="", blank=True)
    provider = models.TextField(default="", blank=True)
    input_tokens = models.IntegerField(null=True)
    output_tokens = models.IntegerField(null=True)
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    duration_ms = models.IntegerField(null=True)

    class Meta:
        constraints = [UniqueConstraint(fields=["step", "iteration", "kind", "position"], name="signal_unique_in_step")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} of {self.step_id}"
