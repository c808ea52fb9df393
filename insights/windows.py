"""How far back a page reads: to the beginning of its period, and never over more rows than it can show at once."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from insights.periods import Period

# Enough for an interval of a percent or two; read within a tenth of a second whatever the history.
LIMIT = 5_000


@dataclass(frozen=True)
class Window:
    """The rows from ``first`` on; all rows where that is None. ``limit``: the period has more of them than that."""

    first: uuid.UUID | None
    limit: int | None = None

    def of(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Those of ``rows``, whose ids begin with the time they were made, that are in the window."""
        return rows if self.first is None else rows.filter(id__gte=self.first)


def newest(rows: "QuerySet[Any]", period: Period, *, limit: int = LIMIT) -> Window:
    """The newest rows of the period, ``limit`` of them at the most: one look into the index of ids."""
    inside = Window(period.first_id).of(rows)
    last = inside.order_by("-id").values_list("id", flat=True)[limit - 1 : limit + 1]
    found = list(last)
    return Window(found[0], limit) if len(found) == 2 else Window(period.first_id)
