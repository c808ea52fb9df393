"""What the marking queue holds."""

from django.conf import settings
from django.db import models
from django.db.models import Index, Q, UniqueConstraint

from calibration.models import Bucket
from runs.models.run import Run
from runs.models.step import Step


class QueueItem(models.Model):
    """A finished step with a sample that no person has marked yet, or that a second person should mark.

    Narrow on purpose: the queue is read by its columns alone, whatever its steps hold. Written with
    the step's decision, removed with its mark (``runs.marking``). ``held_by`` has it until ``held_until``.
    """

    step = models.OneToOneField(Step, on_delete=models.CASCADE, primary_key=True, related_name="queue_item")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="queue_items")
    pipeline = models.TextField()
    name = models.TextField(help_text="The step's; a branch is group/branch.")
    group = models.TextField(help_text="The name up to its slash: branches stand under their group.")
    agent = models.TextField()
    team = models.TextField()
    stage = models.TextField()
    label_source = models.TextField(default="", blank=True, help_text="The sample's, if it has a label already.")
    is_replay = models.BooleanField(default=False)
    bucket = models.ForeignKey(Bucket, on_delete=models.PROTECT, related_name="+", db_index=False)
    confidence_ppm = models.IntegerField()
    finished_at = models.DateTimeField()
    shuffle = models.IntegerField(help_text="By chance, fixed for a step: the lowest of them are an unbiased sample.")
    first_marker = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        help_text="Has marked it; a second opinion is wanted from somebody else.",
    )
    held_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    held_until = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            Index(fields=["finished_at", "step"], name="queue_by_age"),
            # With all columns that counting by pipeline, step and branch reads, so that it reads the index alone.
            Index(fields=["pipeline", "group", "name", "finished_at", "first_marker"], name="queue_by_step"),
            Index(fields=["pipeline", "finished_at", "step"], name="queue_by_pipeline"),
            Index(fields=["group", "finished_at", "step"], name="queue_by_group"),
            Index(fields=["agent", "finished_at", "step"], name="queue_by_agent"),
            Index(fields=["team", "finished_at", "step"], name="queue_by_team"),
            Index(fields=["shuffle", "step"], name="queue_by_chance"),
            Index(fields=["label_source", "finished_at", "step"], condition=~Q(label_source=""), name="queue_labelled"),
            Index(fields=["held_until"], condition=Q(held_by__isnull=False), name="queue_held"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.run_id}, to be marked"


class QueueSkip(models.Model):
    """Somebody left this step to others: it is offered to them again only when nothing else is left."""

    step = models.ForeignKey(Step, on_delete=models.CASCADE, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    at = models.DateTimeField()

    class Meta:
        constraints = [UniqueConstraint(fields=["by", "step"], name="queue_skip_unique")]

    def __str__(self) -> str:
        return f"{self.step_id} skipped by {self.by_id}"
