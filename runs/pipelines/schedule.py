"""``schedule``: when a pipeline starts by itself."""

import re
from collections.abc import Mapping
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator

from runs.pipelines import cron as ticks
from runs.pipelines.strict import Strict, Text

_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
_PART = re.compile(r"(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?")


def _cron(text: str) -> str:
    """Five fields of numbers, ranges, lists and steps; names of months and days are not taken."""
    given = text.split()
    if len(given) != len(_FIELDS):
        raise ValueError(f"needs 5 fields (minute hour day month weekday), not {len(given)}")
    for value, (field, low, high) in zip(given, _FIELDS, strict=True):
        for part in value.split(","):
            _check_part(part, field, low, high)
    if ticks.never(text):
        raise ValueError(f"{text!r} never comes: no month it names has such a day")
    return text


def _check_part(part: str, field: str, low: int, high: int) -> None:
    match = _PART.fullmatch(part)
    if match is None:
        raise ValueError(f"{field}: {part!r} is not a number, range, * or step")
    first, last, step = (None if number is None else int(number) for number in match.groups())
    for number in (first, last):
        if number is not None and not low <= number <= high:
            raise ValueError(f"{field}: {number} is not from {low} to {high}")
    if first is not None and last is not None and first > last:
        raise ValueError(f"{field}: {part!r} ends before it begins")
    if step == 0:
        raise ValueError(f"{field}: a step of 0 never moves")


def _timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is no time zone (for example UTC or Europe/London)") from error
    return name


class Schedule(Strict):
    """``allow_testing``: the wish without which a pipeline whose stage is testing does not run by itself."""

    cron: Annotated[str, AfterValidator(_cron)]
    timezone: Annotated[Text, AfterValidator(_timezone)] = "UTC"
    summary: str = ""
    severity: str = ""
    labels: dict[str, str] = {}
    team: str = ""
    allow_testing: bool = False

    @property
    def rhythm(self) -> str:
        """What the ticks depend on; as long as it stays the same, so do they."""
        return f"{self.cron} {self.timezone}"


def schedule_of(config: Mapping[str, Any] | None) -> Schedule | None:
    """The schedule that a resolved pipeline runs by; None without one, and for a testing pipeline that does not ask."""
    if not config or not config.get("schedule"):
        return None
    schedule = Schedule.model_validate(config["schedule"])
    return schedule if config["stage"] == "production" or schedule.allow_testing else None
