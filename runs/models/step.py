"""One execution of one step in a run."""

from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from runs.ids import new_id
from runs.models.run import Run


class StepStatus(models.TextChoices):
    PENDING = "pending", "Waiting"
    RUNNING = "running", "Running"
    JUDGING = "judging", "Gathering signals"
    COMPLETED = "completed", "Completed"
    STOPPED = "stopped", "Stopped"
    ESCALATED = "escalated", "Escalated"
    ABORTED = "aborted", "Aborted"
    FAILED = "failed", "Failed"
    SKIPPED = "skipped", "Skipped"


UNFINISHED = (StepStatus.PENDING, StepStatus.RUNNING, StepStatus.JUDGING)


class Step(models.Model):
    """A step is a work item: a worker claims it (``leased``, a higher ``lease``) and writes only under that lease.

    ``wake_at`` is when the sweeper looks again: the end of the lease while claimed, else when the
    work is due to be published again; null once finished. The confidences are in [0, 1]; null is
    "no such signal", never 0.

    A group (``parallel``, ``fan_out``) is a step too, and its branches are steps named ``group/branch`` that
    share its ``index``. A group waits for its branches, a sub-pipeline for its run, and a human step or check for
    people: nobody can claim a step while ``awaited`` is above 0, and whoever makes it 0 sends a worker to it.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="steps", db_index=False)
    name = models.TextField()
    index = models.IntegerField()
    branch = models.IntegerField(null=True, help_text="Place in its group, from 0; null outside of one.")
    branch_context = models.JSONField(default=dict, help_text="The names its templates see beside the run's.")
    awaited = models.IntegerField(
        default=0, help_text="How many branches, runs or people it waits for, holding no worker."
    )
    status = models.TextField(choices=StepStatus.choices, default=StepStatus.PENDING)
    error = models.TextField(default="", blank=True)

    executor = models.TextField()
    agent = models.TextField(default="", blank=True, help_text="executor:name")
    model = models.TextField(default="", blank=True)
    provider = models.TextField(default="", blank=True)
    prompt_hash = models.TextField(default="", blank=True)
    agent_version = models.TextField(default="", blank=True)

    prompt = models.TextField(default="", blank=True)
    raw_output = models.TextField(default="", blank=True)
    parsed_output = models.JSONField(null=True)
    revised_output = models.JSONField(null=True, help_text="The answer as a person put it right; later steps see it.")
    agent_trace = models.JSONField(null=True, help_text="Null when the executor cannot report tool calls.")
    iterations = models.JSONField(default=list, help_text="The earlier passes of a loop_until, oldest first.")

    primary_confidence = models.FloatField(null=True)
    verifier_confidence = models.FloatField(null=True)
    effective_confidence = models.FloatField(null=True)
    grounding_score = models.FloatField(null=True)
    deterministic_passed = models.BooleanField(null=True)
    combined_trust = models.FloatField(null=True)
    confidence_threshold = models.FloatField(null=True)
    trust_report = models.JSONField(null=True)

    input_tokens = models.IntegerField(null=True)
    output_tokens = models.IntegerField(null=True)
    retried = models.JSONField(default=list, help_text="Who answered, and their tokens, in tries that did not count.")
    cost_nanos = models.BigIntegerField(
        null=True, help_text="Billionths of a dollar, of all its calls, judges included; null while not known."
    )
    duration_ms = models.IntegerField(null=True, help_text="Of the primary call.")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    leased = models.BooleanField(default=False)
    lease = models.BigIntegerField(default=0)
    wake_at = models.DateTimeField(null=True)
    attempts = models.IntegerField(default=0, help_text="How often a worker claimed it (crashes included).")
    tries = models.IntegerField(default=0, help_text="How often the agent was called in this pass (retry).")

    taken_from = models.UUIDField(
        null=True, help_text="The step of the run run again whose answer it is; it asked nobody."
    )
    turn_asked_at = models.DateTimeField(null=True, help_text="Since when it waits for a free call of its agent.")
    turn_taken_at = models.DateTimeField(
        null=True, help_text="When a limited call of its agent began; counts while leased."
    )

    class Meta:
        constraints = [
            UniqueConstraint(fields=["run", "name"], name="step_name_unique_in_run"),
            CheckConstraint(condition=Q(status__in=StepStatus.values), name="step_status_known"),
        ]
        indexes = [
            Index(fields=["wake_at"], condition=Q(wake_at__isnull=False), name="step_due"),
            Index(fields=["name", "-id"], name="step_name_newest"),
            Index(
                fields=["agent", "turn_asked_at", "id"],
                condition=Q(turn_asked_at__isnull=False),
                name="step_turn_asked",
            ),
            Index(fields=["agent"], condition=Q(turn_taken_at__isnull=False, leased=True), name="step_turn_taken"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.run_id}"
