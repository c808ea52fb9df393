"""The branches of a run's groups as the run page lists them: a page of each at a time, in as few queries for many
groups as for one.
"""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, F, Q, QuerySet, TextField, Value, When, Window
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Left, RowNumber
from django.urls import reverse
from django.utils.http import urlencode

from runs.models import Step
from runs.models.step import StepStatus

AT_ONCE = 50
ITEM_HEAD = 160
# What a reader looks for stands first; the rest in the order of the list.
FIRST = (StepStatus.FAILED, StepStatus.ABORTED, StepStatus.ESCALATED)


@dataclass(frozen=True)
class Table:
    """Some branches of a group: ``first`` to ``last`` (from 1) of the ``count`` that have ``status``, "" for all."""

    group: Step
    rows: Sequence[Step]
    counts: Mapping[str, int]
    status: str = ""
    start: int = 0
    with_items: bool = False

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def count(self) -> int:
        return self.counts.get(self.status, 0) if self.status else self.total

    @property
    def first(self) -> int:
        return self.start + 1

    @property
    def last(self) -> int:
        return self.start + len(self.rows)

    @property
    def costed(self) -> bool:
        return any(row.cost_nanos for row in self.rows)

    @property
    def here(self) -> str:
        return self._address(self.status, self.start)

    @property
    def before(self) -> str:
        return self._address(self.status, max(0, self.start - AT_ONCE)) if self.start else ""

    @property
    def after(self) -> str:
        return self._address(self.status, self.last) if self.last < self.count else ""

    @property
    def choices(self) -> list[tuple[str, int, str]]:
        """Each status with its number of branches and its address, "" for all of them first."""
        statuses = [status for status in StepStatus.values if self.counts.get(status)]
        return [("", self.total, self._address("", 0)), *((s, self.counts[s], self._address(s, 0)) for s in statuses)]

    def _address(self, status: str, start: int) -> str:
        asked: dict[str, str | int] = {
            "group": self.group.name,
            **({"status": status} if status else {}),
            **({"from": start} if start else {}),
        }
        return f"{reverse('ui-run-branches', args=[self.group.run_id])}?{urlencode(asked)}"


def counts_of(run_id: uuid.UUID) -> dict[int, dict[str, int]]:
    """How many branches of each status, by the index of their group. One query."""
    found: dict[int, dict[str, int]] = defaultdict(dict)
    rows = Step.objects.filter(run_id=run_id, branch__isnull=False).values_list("index", "status").order_by()
    for index, status, count in rows.annotate(count=Count("id")):
        found[index][status] = count
    return found


def first_pages(groups: Sequence[Step], items: Mapping[int, str]) -> dict[uuid.UUID, Table]:
    """Of each group (of one run) the branches to look at first; ``items`` are the names that fan-outs give an item,
    by their index. Two queries, none without groups.
    """
    if not groups:
        return {}
    counts = counts_of(groups[0].run_id)
    branches = Step.objects.filter(run_id=groups[0].run_id, branch__isnull=False, index__in=[g.index for g in groups])
    place = Window(RowNumber(), partition_by="index", order_by=[_urgency(), F("branch")])
    ids = branches.annotate(place=place).filter(place__lte=AT_ONCE).values("id")
    rows = defaultdict(list)
    for row in _ordered(_shown(Step.objects.filter(id__in=ids), items)):
        rows[row.index].append(row)
    return {g.id: Table(g, rows[g.index], counts.get(g.index, {}), with_items=g.index in items) for g in groups}


def page_of(group: Step, items: Mapping[int, str], *, status: str, start: int) -> Table:
    """The branches of ``status`` ("" for all) from ``start`` on. Two queries."""
    counts = counts_of(group.run_id).get(group.index, {})
    chosen = Q(status=status) if status else Q()
    found = Step.objects.filter(chosen, run_id=group.run_id, branch__isnull=False, index=group.index)
    rows = list(_ordered(_shown(found, items))[start : start + AT_ONCE])
    return Table(group, rows, counts, status, start, with_items=group.index in items)


def _urgency() -> Case:
    return Case(*[When(status=status, then=Value(n)) for n, status in enumerate(FIRST)], default=Value(len(FIRST)))


def _ordered(steps: "QuerySet[Step]") -> "QuerySet[Step]":
    return steps.order_by(_urgency(), "branch", "id")


def _shown(steps: "QuerySet[Step]", items: Mapping[int, str]) -> "QuerySet[Any]":
    texts = [
        When(index=index, then=Left(Cast(KeyTextTransform(name, "branch_context"), TextField()), ITEM_HEAD))
        for index, name in items.items()
    ]
    item = Case(*texts, default=Value(""), output_field=TextField())
    return steps.only(
        "id", "run_id", "name", "index", "branch", "status", "executor", "agent", "model", "primary_confidence",
        "combined_trust", "confidence_threshold", "duration_ms", "completed_at", "cost_nanos",
    ).annotate(item=item)  # fmt: skip
