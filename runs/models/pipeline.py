"""Pipelines as they were loaded from their files."""

from django.db import models
from django.db.models import Index, Q, UniqueConstraint

# Where the demo's pipelines lie. No reload reads them, so their rows are never present.
DEMO_FILES = "examples/demo/pipelines/"


class PipelineVersion(models.Model):
    """One resolved pipeline (step library merged in), addressed by the hash of its content."""

    digest = models.CharField(max_length=64, primary_key=True)
    name = models.TextField(db_index=True)
    config = models.JSONField(help_text="What runs.pipelines.schema.Pipeline.model_validate reads back.")
    source = models.TextField(default="", blank=True, help_text="The file's text when this version first loaded.")
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} {self.digest[:12]}"


class Pipeline(models.Model):
    """One file of the pipelines directory: its last good version, and what is wrong with it now."""

    file = models.TextField(primary_key=True, help_text="Path relative to the pipelines directory.")
    name = models.TextField()
    version = models.ForeignKey(PipelineVersion, on_delete=models.PROTECT, null=True, related_name="+")
    errors = models.JSONField(default=list, help_text="[{file, line, field, message}]; empty when the file is good.")
    present = models.BooleanField(default=True, help_text="False once the file is gone.")
    loaded_at = models.DateTimeField()
    changed_at = models.DateTimeField(help_text="When the version last became another one.")
    rhythm = models.TextField(default="", blank=True, help_text="Cron and zone of its schedule; empty without one.")
    next_at = models.DateTimeField(null=True, help_text="The next tick of that; null without a schedule that runs.")

    class Meta:
        constraints = [
            # A name starts exactly one pipeline; the loader refuses the second file that claims it.
            UniqueConstraint(
                fields=["name"],
                condition=Q(present=True, version__isnull=False),
                name="pipeline_name_unique",
            )
        ]
        indexes = [Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="pipeline_tick_due")]

    def __str__(self) -> str:
        return self.name
