"""Times that come from elsewhere: which of them can be those of a run, a step or a mark."""

from datetime import UTC, datetime, timedelta

# Ids begin with the time since 1970, and time zones and durations are still added to what comes in.
FIRST_YEAR, LAST_YEAR = 1970, 2999
CLOCK_SKEW = timedelta(minutes=1)


def utc(moment: datetime) -> datetime:
    """``moment`` in UTC, which it is in if it names no zone. Raises ValueError for one that cannot be a run's."""
    known: datetime | None
    try:
        known = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:  # the first or last day there is, in a zone that puts it beyond
        known = None
    if known is None or not FIRST_YEAR <= known.year <= LAST_YEAR:
        raise ValueError(f"expected a time of the years {FIRST_YEAR} to {LAST_YEAR}")
    return known


def is_future(moment: datetime, *, now: datetime) -> bool:
    """Whether it lies ahead of ``now`` by more than clocks differ."""
    return moment > now + CLOCK_SKEW
