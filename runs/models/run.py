"""One execution of a pipeline."""

from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from runs.ids import new_id
from runs.models.pipeline import PipelineVersion


class RunStatus(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    COMPLETED = "completed", "Completed"
    STOPPED = "stopped", "Stopped"
    ESCALATED = "escalated", "Escalated"
    ABORTED = "aborted", "Aborted"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


IN_FLIGHT = (RunStatus.QUEUED, RunStatus.RUNNING)
# Escalated is not an end: it waits for a person.
ENDED = (RunStatus.COMPLETED, RunStatus.STOPPED, RunStatus.ABORTED, RunStatus.FAILED, RunStatus.CANCELLED)


# Nobody else can be called that: names of users have no blanks, and tokens are told by their team.
STARTED_BY_DEMO = "the demo"

STAGES = ("testing", "production")


class Run(models.Model):
    """``wake_at`` is when the sweeper looks again; null when nothing is due.

    ``tokens`` and ``cost_nanos`` (billionths of a dollar) are the sums over what its ended steps told and could be
    priced, with the runs that steps of it started; ``steps_untold`` and ``steps_unpriced`` say of how many steps
    they know nothing, or not all.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    pipeline_name = models.TextField()
    version = models.ForeignKey(PipelineVersion, on_delete=models.PROTECT, related_name="runs")
    stage = models.TextField()
    team = models.TextField(default="", blank=True)
    source = models.TextField()
    started_by = models.TextField(default="", blank=True, help_text="Who pressed the button, or which token.")
    context = models.JSONField(help_text="The normalised payload: summary, severity, labels, metadata, and more.")
    payload = models.JSONField(default=dict, help_text="The payload as it came.")
    summary = models.TextField(default="", blank=True)
    dedup_key = models.TextField(default="", blank=True)
    status = models.TextField(choices=RunStatus.choices, default=RunStatus.QUEUED)
    reason = models.TextField(default="", blank=True, help_text="Why it ended or waits, in a sentence.")
    triggered_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    wake_at = models.DateTimeField(null=True)
    parent_step = models.ForeignKey(
        "runs.Step",
        on_delete=models.SET_NULL,
        null=True,
        related_name="children",
        help_text="The step that started it.",
    )
    rerun_of = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="reruns")
    rerun_from = models.TextField(default="", blank=True, help_text="The first step that a rerun does again.")
    tokens = models.BigIntegerField(default=0)
    steps_untold = models.IntegerField(default=0)
    cost_nanos = models.BigIntegerField(default=0)
    steps_unpriced = models.IntegerField(default=0)

    class Meta:
        constraints = [
            # Two equal alerts at the same instant start one run, whatever the web workers believe.
            UniqueConstraint(
                fields=["pipeline_name", "team", "dedup_key"],
                condition=Q(status__in=["queued", "running"]) & ~Q(dedup_key=""),
                name="run_one_in_flight_per_key",
            ),
            CheckConstraint(condition=Q(status__in=RunStatus.values), name="run_status_known"),
        ]
        indexes = [
            Index(fields=["wake_at"], condition=Q(wake_at__isnull=False), name="run_due"),
            Index(fields=["status", "-id"], name="run_status_newest"),
            Index(fields=["pipeline_name", "-id"], name="run_pipeline_newest"),
            # The other filters of the runs list: a rare value must not cost a walk through the history.
            Index(fields=["team", "-id"], name="run_team_newest"),
            Index(fields=["team", "status", "-id"], name="run_team_status_newest"),
            Index(fields=["source", "-id"], name="run_source_newest"),
            Index(fields=["stage", "-id"], name="run_stage_newest"),
            Index(
                fields=["pipeline_name", "team", "dedup_key", "-completed_at"],
                condition=~Q(dedup_key=""),
                name="run_dedup_window",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pipeline_name} {self.id}"

    @property
    def is_demo(self) -> bool:
        """Whether the demo made it up."""
        return self.started_by == STARTED_BY_DEMO
