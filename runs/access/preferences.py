"""What a person has set for themselves, with what holds until they have."""

import zoneinfo
from functools import cache
from typing import Any

from django.contrib.auth.models import User

from runs.models import Preference

REGIONS = ("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")


def preference_of(user: Any) -> Preference:
    """Theirs, or the defaults while they have set nothing. No query: the row comes with the signed-in user."""
    return getattr(user, "preference", None) or Preference(user_id=user.pk)


def prefer(*, user: User, time_zone: str | None = None, is_blind: bool | None = None) -> Preference:
    """Store what is given and leave the rest. Raises ValueError for a time zone that does not exist."""
    if time_zone and time_zone not in zones():
        raise ValueError(f"There is no time zone {time_zone[:80]!r}.")
    given = {"time_zone": time_zone, "is_blind": is_blind}
    stored, _ = Preference.objects.update_or_create(
        user=user, defaults={name: value for name, value in given.items() if value is not None}
    )
    user.preference = stored
    return stored


@cache
def zones() -> frozenset[str]:
    """The names of the time zones this machine knows, without the obsolete ones."""
    known = zoneinfo.available_timezones()
    return frozenset({"UTC", *(name for name in known if name.split("/")[0] in REGIONS)})
