"""Buckets and the samples in them: what calibration is computed from."""

from django.db import models
from django.db.models import CheckConstraint, F, Index, Q, UniqueConstraint


class Bucket(models.Model):
    """Exactly one (step, agent, model, provider, prompt, agent version).

    A part an executor does not report is "", a value of its own and never a wildcard.
    """

    step = models.TextField()
    agent = models.TextField()
    model = models.TextField(default="", blank=True)
    provider = models.TextField(default="", blank=True)
    prompt_hash = models.TextField(default="", blank=True)
    agent_version = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            UniqueConstraint(
                fields=["step", "agent", "model", "provider", "prompt_hash", "agent_version"],
                name="bucket_key_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.step} by {self.agent} ({self.model or 'unknown model'})"


class LabelSource(models.TextChoices):
    NONE = "", "not labelled"
    STEP_MARK = "step_mark", "a person marked the step"
    FAILED_CHECK = "failed_check", "a check failed"
    RUN_MARK = "run_mark", "a person marked the run"


class Sample(models.Model):
    """One (confidence, label) pair; it has the id of the step it came from.

    ``confidence`` is S after V, in [0, 1]. ``confidence_ppm`` is the same in whole parts per
    million, for exact bins: 0.3 is 300000 whatever the floating point noise. ``claimed_ppm`` is S alone,
    what the agent said; null is unknown. ``label`` is 1.0, 0.5,
    0.0, a mean of several markers' values, or null (nobody knows yet, which is not 0).
    """

    id = models.UUIDField(primary_key=True)
    bucket = models.ForeignKey(Bucket, on_delete=models.PROTECT, related_name="samples", db_index=False)
    group = models.UUIDField(help_text="What was done together (a run); a mark on it labels every sample.")
    stage = models.TextField()
    confidence = models.FloatField()
    confidence_ppm = models.IntegerField()
    claimed_ppm = models.IntegerField(null=True)
    observed_at = models.DateTimeField()
    check_failed = models.BooleanField(default=False)
    is_replay = models.BooleanField(default=False)
    label = models.FloatField(null=True)
    label_source = models.TextField(choices=LabelSource.choices, default=LabelSource.NONE, blank=True)

    class Meta:
        constraints = [
            CheckConstraint(condition=Q(confidence__gte=0, confidence__lte=1), name="sample_confidence_in_0_1"),
            CheckConstraint(
                condition=Q(confidence_ppm__gte=0, confidence_ppm__lte=1_000_000), name="sample_ppm_in_range"
            ),
            CheckConstraint(
                condition=Q(label__isnull=True) | Q(label__gte=0, label__lte=1), name="sample_label_in_0_1"
            ),
            # A label without a source, or a source without a label, would be counted in one place only.
            CheckConstraint(
                condition=Q(label__isnull=True, label_source="") | (Q(label__isnull=False) & ~Q(label_source="")),
                name="sample_label_has_source",
            ),
        ]
        indexes = [
            # Covers the gate's lookup: labelled evidence of one bucket in a range of confidence. is_replay is
            # always false in it, but SQLite would otherwise read each row to see that.
            Index(
                F("bucket"),
                F("stage"),
                F("confidence_ppm"),
                F("label"),
                F("is_replay"),
                condition=Q(label__isnull=False, is_replay=False),
                name="sample_evidence",
            ),
            Index(fields=["bucket", "observed_at"], name="sample_bucket_time"),
            Index(fields=["group"], name="sample_group"),
        ]

    def __str__(self) -> str:
        return f"sample {self.id}"
