"""Teams and their tokens. People are Django users; their role is a group (``runs.access.roles``)."""

from django.db import models


class Role(models.IntegerChoices):
    """What someone may do; each role includes the ones before it."""

    INTAKE = 0, "intake"
    VIEWER = 1, "viewer"
    MARKER = 2, "marker"
    OPERATOR = 3, "operator"
    ADMIN = 4, "admin"


class Team(models.Model):
    name = models.TextField(primary_key=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Token(models.Model):
    """A bearer token. Only the SHA-256 of its secret is kept: it is shown once and never again.

    ``name`` says what it is for. Who made it and who took it back is "" where that was not recorded yet.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="tokens")
    role = models.SmallIntegerField(choices=Role.choices)
    digest = models.CharField(max_length=64, unique=True)
    prefix = models.TextField(help_text="The first characters, to tell tokens apart in a list.")
    name = models.TextField(default="", blank=True)
    created_at = models.DateTimeField()
    created_by = models.TextField(default="", blank=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.TextField(default="", blank=True)
    form = models.UUIDField(null=True, unique=True, help_text="The form it was made with: sent twice, it makes one.")

    def __str__(self) -> str:
        return f"{self.prefix}… of {self.team_id}"
