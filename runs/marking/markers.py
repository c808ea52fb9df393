"""Whose mark it is."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from runs.access.principal import Principal

# A colon is no letter of a name that a form accepts, so no person can be called like this.
TEAM_PREFIX = "team:"
NOTE_CHARS = 10_000
NAME_CHARS = 150  # what the column of a name holds


def marker_of(user: Any) -> User:
    """The person signed in; for a token, its team, which marks as one marker whatever token it uses.

    Writes on a team's first mark. The account that stands for a team can never sign in.
    """
    if not isinstance(user, Principal):
        found: User = get_user_model().objects.get(pk=user.pk)
        return found
    return absent_marker(f"{TEAM_PREFIX}{user.team}")


def absent_marker(name: str) -> User:
    """The account of this name, made without a password and unable to sign in when there is none."""
    team, _ = User.objects.get_or_create(username=name, defaults={"is_active": False, "password": "!"})
    return team
