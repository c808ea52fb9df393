"""The runs list's query string, checked: a bad value is refused with the allowed ones, never replaced by a default.

Senders name their source as they like, so any source may be asked for.
"""

import datetime as dt
import re
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict

from runs import filtering
from runs.filtering import BadFilter
from runs.ids import first_at
from runs.models import Run, RunStatus
from runs.models.run import STAGES

PERIODS = {
    "1h": ("Last hour", dt.timedelta(hours=1)),
    "24h": ("Last 24 hours", dt.timedelta(days=1)),
    "7d": ("Last 7 days", dt.timedelta(days=7)),
    "30d": ("Last 30 days", dt.timedelta(days=30)),
}
NAMES = ("status", "pipeline", "stage", "team", "source", "period", "q")
CURSORS = ("before", "after")
_PREFIX = re.compile(r"[0-9a-f]{1,32}")


@dataclass(frozen=True)
class Known:
    """What may be asked for."""

    pipelines: Collection[str]
    teams: Collection[str]


@dataclass(frozen=True)
class Filters:
    """Empty text and None mean "any"."""

    status: str = ""
    pipeline: str = ""
    stage: str = ""
    team: str = ""
    source: str = ""
    period: str = ""
    q: str = ""
    before: uuid.UUID | None = None
    after: uuid.UUID | None = None

    def chosen(self) -> dict[str, str]:
        """The filters that are set, as they stand in a query string; cursors left out."""
        return {name: getattr(self, name) for name in NAMES if getattr(self, name)}

    def apply(self, runs: "QuerySet[Run]", *, now: dt.datetime) -> "QuerySet[Run]":
        for field, value in (
            ("status", self.status),
            ("pipeline_name", self.pipeline),
            ("stage", self.stage),
            ("team", self.team),
            ("source", self.source),
        ):
            if value:
                runs = runs.filter(**{field: value})
        if self.period:
            since = now - PERIODS[self.period][1]
            # Ids begin with the time they were made, so the primary key bounds the scan.
            runs = runs.filter(id__gte=first_at(since), triggered_at__gte=since)
        if self.q:
            low, high = _id_range(self.q)
            runs = runs.filter(id__gte=low, id__lte=high)
        return runs


def parse(query: QueryDict, known: Known) -> Filters:
    """Raises BadFilter naming each value that is not among the allowed ones."""
    values = filtering.values_of(query, NAMES + CURSORS)
    allowed: Mapping[str, Collection[str]] = {
        "status": RunStatus.values,
        "pipeline": known.pipelines,
        "stage": STAGES,
        "team": known.teams,
        "period": PERIODS,
    }
    problems = filtering.unknown(values, allowed)
    values["q"] = values["q"].strip().lower().replace("-", "")
    if values["q"] and not _PREFIX.fullmatch(values["q"]):
        problems.append("q takes the beginning of a run id: up to 32 hex digits (0-9, a-f), dashes allowed.")
    cursors = {name: _cursor(name, values.pop(name), problems) for name in CURSORS}
    if cursors["before"] and cursors["after"]:
        problems.append("before and after exclude each other.")
    if problems:
        raise BadFilter(problems)
    chosen: dict[str, Any] = {**values, **cursors}
    return Filters(**chosen)


def _cursor(name: str, text: str, problems: list[str]) -> uuid.UUID | None:
    if not text:
        return None
    try:
        return uuid.UUID(text)
    except ValueError:
        problems.append(f"{name} must be a run id.")
        return None


def _id_range(prefix: str) -> tuple[uuid.UUID, uuid.UUID]:
    return uuid.UUID(prefix.ljust(32, "0")), uuid.UUID(prefix.ljust(32, "f"))
