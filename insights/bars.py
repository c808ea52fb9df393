"""How a period is cut into bars: at the hours, midnights, Mondays or months of the reader's own clock. Pure."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, tzinfo

MOST = 62
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


def cut(since: datetime, until: datetime, zone: tzinfo) -> list[datetime]:
    """The edges of the bars from ``since`` to ``until``: at most MOST bars; the first and last may be cut short.

    Whole hours for up to two days, else days, weeks, months, or as many months at a time as it takes.
    """
    edges: list[datetime] = []
    for step in _steps(until - since):
        edges = [since]
        for edge in _after(since, step, zone):
            if edge >= until or len(edges) > MOST:
                break
            edges.append(edge)
        if len(edges) <= MOST:
            break
    return [*edges, until]


def _steps(span: timedelta) -> Iterator[Callable[[datetime], datetime]]:
    """From a local time without zone to the next edge after it, the finest first; coarser ones without end."""
    if span <= 2 * _DAY:
        yield lambda local: local.replace(minute=0, second=0, microsecond=0) + _HOUR
    yield lambda local: _midnight(local) + _DAY
    yield lambda local: _midnight(local) + _DAY * (7 - local.weekday())
    months = 1
    while True:
        yield lambda local, months=months: _months_on(local, months)  # type: ignore[misc]
        months *= 2


def _after(since: datetime, step: Callable[[datetime], datetime], zone: tzinfo) -> Iterator[datetime]:
    local = since.astimezone(zone).replace(tzinfo=None)
    last = since
    while True:
        local = step(local)
        # An hour that the clocks skip in spring would be the same moment as the one before it.
        if (edge := local.replace(tzinfo=zone).astimezone(since.tzinfo)) > last:
            yield edge
            last = edge


def _midnight(local: datetime) -> datetime:
    return local.replace(hour=0, minute=0, second=0, microsecond=0)


def _months_on(local: datetime, months: int) -> datetime:
    whole = local.year * 12 + local.month - 1 + months
    return _midnight(local).replace(year=whole // 12, month=whole % 12 + 1, day=1)
