"""The time ranges that pages offer: 24h, 7d, 30d and all."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import QueryDict

from runs.ids import first_at
from runs.views.query import BadAddress

NAME = "period"
DEFAULT = "7d"
_SPANS = {
    "24h": ("24 hours", timedelta(hours=24)),
    "7d": ("7 days", timedelta(days=7)),
    "30d": ("30 days", timedelta(days=30)),
    "all": ("All time", None),
}


@dataclass(frozen=True)
class Period:
    """``since``: where it begins; None for all time."""

    key: str
    label: str
    since: datetime | None

    @property
    def first_id(self) -> uuid.UUID | None:
        """The lowest id a run or step of this period can have: ids begin with the time they were made."""
        return None if self.since is None else first_at(self.since)

    @property
    def words(self) -> str:
        """As it ends a sentence: "in the last 7 days", "so far"."""
        return "so far" if self.since is None else f"in the last {self.label}"


def parse(query: QueryDict, *, now: datetime) -> Period:
    """The period that the query string asks for, the last 7 days when it asks for none. Raises BadAddress."""
    key = query.get(NAME, DEFAULT)
    if key not in _SPANS:
        raise BadAddress(f"{NAME} “{key[:80]}” is not known. Allowed: {', '.join(_SPANS)}.")
    label, span = _SPANS[key]
    return Period(key, label, None if span is None else now - span)


def choices(query: QueryDict, chosen: Period) -> list[dict[str, object]]:
    """One link per period, which keeps the rest of the query string."""
    links = []
    for key, (label, _) in _SPANS.items():
        address = query.copy()
        address[NAME] = key
        links.append({"label": label, "address": f"?{address.urlencode()}", "here": key == chosen.key})
    return links
