"""When a cron expression comes due, in its time zone. Moments go in and come out in UTC.

Clocks that change are taken as Debian's cron takes them. Fixed times: one that the clocks skip comes right after
the gap, one that they repeat comes the first time only. Expressions whose minute or hour begins with ``*`` follow
the time that passes: every quarter of an hour stays that, all through both passes of a repeated hour.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

# Where the search for a first tick begins when a file is checked: the answer must not depend on the day.
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)


def never(cron: str) -> bool:
    """Whether no day of any year matches (30 February). The expression must be well formed."""
    try:
        return next_after(cron, "UTC", _ANY_DAY) is None
    except CronSimError:
        return True


def next_after(cron: str, zone: str, after: datetime) -> datetime | None:
    """The first tick later than ``after``; None when there is none within fifty years."""
    found = upcoming(cron, zone, after, 1)
    return found[0] if found else None


def upcoming(cron: str, zone: str, after: datetime, count: int) -> list[datetime]:
    """The next ``count`` ticks later than ``after``, each once."""
    found: list[datetime] = []
    for tick in CronSim(cron, after.astimezone(ZoneInfo(zone))):
        # Several times that a gap swallows come at the same moment, and one that is repeated may lie behind us.
        if tick.astimezone(UTC) > (found[-1] if found else after):
            found.append(tick.astimezone(UTC))
        if len(found) == count:
            break
    return found


def latest_until(cron: str, zone: str, moment: datetime) -> datetime | None:
    """The last tick at or before ``moment``, which ``next_after`` would give for a moment a little earlier."""
    just_after = (moment + timedelta(seconds=1)).astimezone(ZoneInfo(zone))
    tick = next(CronSim(cron, just_after, reverse=True), None)
    latest = None if tick is None else tick.astimezone(UTC)
    # Backwards, the first pass of a repeated hour is skipped over: go on from there to be sure.
    following = next_after(cron, zone, latest) if latest else None
    while following is not None and following <= moment:
        latest, following = following, next_after(cron, zone, following)
    return latest


def in_words(cron: str) -> str:
    """ "At 06:30 on Monday through Friday"."""
    return CronSim(cron, _ANY_DAY).explain()
