"""The first administrator, and the groups that carry people's roles."""

import secrets
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from runs.access.roles import GROUPS
from runs.models import Role

ADMIN_NAME = "admin"


def ensure_groups(**_: Any) -> None:
    """Make the missing role groups; connected to post_migrate, so every database has them."""
    have = set(Group.objects.filter(name__in=GROUPS).values_list("name", flat=True))
    Group.objects.bulk_create([Group(name=name) for name in GROUPS if name not in have], ignore_conflicts=True)


def ensure_admin(*, password: str) -> str | None:
    """Make the user ``admin`` unless somebody is an administrator already; its password, or None if nothing was made.

    An empty ``password`` means: make one up. Raises ValidationError for one that is too easy to guess,
    and for a user called admin who exists without being an administrator.
    """
    users = get_user_model().objects
    with transaction.atomic():
        admins = Q(is_superuser=True) | Q(groups__name=Role.ADMIN.label)
        if users.filter(admins, is_active=True).exists():
            return None
        if users.filter(username=ADMIN_NAME).exists():
            raise ValidationError(f"A user called {ADMIN_NAME} exists but is no active administrator; make it one.")
        if password:
            validate_password(password)
        chosen = password or secrets.token_urlsafe(15)
        users.create_superuser(username=ADMIN_NAME, password=chosen)
    return chosen
