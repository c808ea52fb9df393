"""The registry of prompt and agent versions, addressed by the hash of their content."""

from django.db import models
from django.db.models import UniqueConstraint


class PromptVersion(models.Model):
    """One text a step's prompt template has had; the same text later is the same version again."""

    step = models.TextField()
    prompt_hash = models.TextField()
    template = models.TextField()
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()

    class Meta:
        # By step too: two steps may share a template, and each has a history of its own.
        constraints = [UniqueConstraint(fields=["step", "prompt_hash"], name="prompt_version_unique")]

    def __str__(self) -> str:
        return f"{self.step} prompt {self.prompt_hash}"


class AgentVersion(models.Model):
    """One version an agent has reported; ``note`` says why when its text could not be had."""

    agent = models.TextField()
    version = models.TextField()
    soul = models.TextField(default="", blank=True)
    config = models.TextField(default="", blank=True)
    note = models.TextField(default="", blank=True)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()

    class Meta:
        constraints = [UniqueConstraint(fields=["agent", "version"], name="agent_version_unique")]

    def __str__(self) -> str:
        return f"{self.agent} {self.version}"
