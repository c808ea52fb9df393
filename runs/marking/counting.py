"""Counts that look at no more rows than they show."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet


@dataclass(frozen=True)
class Count:
    """``n`` exactly, or at least ``n`` when ``more``; as text "7", or "1,000+"."""

    n: int
    more: bool = False

    def __str__(self) -> str:
        return f"{self.n:,}+" if self.more else f"{self.n:,}"

    def __bool__(self) -> bool:
        return self.n > 0


def upto(rows: QuerySet[Any], cap: int) -> Count:
    """How many rows, exactly up to ``cap``: the first of them in the order given, which decides the index walked."""
    found = rows[: cap + 1].count()
    return Count(min(found, cap), more=found > cap)
