"""The escalations as lists: those that wait, longest first, and those that are closed, newest first.

No list costs more the more there is: a page is looked for among a window of rows, and the next page begins where the
window ended.
"""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from django.db.models import Q, QuerySet

from runs.literals import literal
from runs.models import Decision, Escalation, EscalationState
from runs.pipelines.definitions import group_of

Tab = Literal["open", "closed"]
TABS: tuple[Tab, ...] = ("open", "closed")
WINDOW = 2_000
BADGE = 99


class UnknownCursor(Exception):
    """The row after which a page was to begin is not there."""


@dataclass(frozen=True)
class Filters:
    """ "" and None mean any. ``step`` is a step, or a group with all its branches; ``to`` is who is asked now."""

    pipeline: str = ""
    step: str = ""
    agent: str = ""
    team: str = ""
    stage: str = ""
    to: str = ""
    overdue: bool = False
    run: uuid.UUID | None = None

    def apply(self, rows: "QuerySet[Escalation]", *, now: dt.datetime) -> "QuerySet[Escalation]":
        columns = {
            "run__pipeline_name": self.pipeline,
            "step__agent": self.agent,
            "run__team": self.team,
            "run__stage": self.stage,
            "to": self.to,
        }
        rows = rows.filter(**{column: value for column, value in columns.items() if value})
        if self.step:
            rows = rows.filter(Q(step__name=self.step) | Q(step__name__startswith=f"{self.step}/"))
        return rows.filter(Q(overdue_since__isnull=False) | Q(due_at__lte=now)) if self.overdue else rows


@dataclass(frozen=True)
class Page:
    """``after`` is the id that the next page begins after, None on the last; a page may be empty and not the last."""

    rows: Sequence[Escalation]
    after: uuid.UUID | None


def waiting() -> "QuerySet[Escalation]":
    """What waits for a decision, in no order."""
    return Escalation.objects.filter(state=literal(EscalationState.OPEN.value))


def count_waiting(most: int = BADGE) -> int:
    """How many wait, counted up to ``most`` + 1."""
    return waiting().order_by().values("pk")[: most + 1].count()


def page(tab: Tab, filters: Filters, *, now: dt.datetime, size: int, after: uuid.UUID | None = None) -> Page:
    """One page with what a list shows of each escalation, its run and its step. Raises UnknownCursor."""
    ordered = _after(tab, after)
    if filters.run is not None:
        ordered = ordered.filter(run_id=filters.run)
    if filters == Filters():
        rows, window = list(_shown(ordered)[: size + 1]), None
    else:
        among = Escalation.objects.filter(id__in=ordered.values("id")[:WINDOW])
        rows = list(_shown(_ordered(tab, filters.apply(among, now=now)))[: size + 1])
        window = next(iter(ordered.values_list("id", flat=True)[WINDOW - 1 : WINDOW]), None)
    return Page(rows[:size], rows[size - 1].id if len(rows) > size else window)


def names(tab: Tab) -> Mapping[str, list[str]]:
    """What can be chosen from: the names among the first that a list without filters would show."""
    columns = ("run__pipeline_name", "step__name", "step__agent", "run__team", "to")
    found = list(_after(tab, None).values_list(*columns)[:WINDOW])
    pipelines, steps, agents, teams, groups = zip(*found, strict=True) if found else ((), (), (), (), ())
    every = {"pipeline": pipelines, "step": map(group_of, steps), "agent": agents, "team": teams, "to": groups}
    return {name: sorted({value for value in values if value}) for name, values in every.items()}


def closing(escalations: Sequence[Escalation]) -> dict[uuid.UUID, Decision]:
    """By escalation, the decision that closed it; none for those that were withdrawn. One query."""
    closed = [one.id for one in escalations if one.closed_at is not None]
    decisions = Decision.objects.filter(escalation_id__in=closed).exclude(kind=Decision.Kind.ESCALATE).defer("changes")
    return {decision.escalation_id: decision for decision in decisions}


def _after(tab: Tab, after: uuid.UUID | None) -> "QuerySet[Escalation]":
    rows = waiting() if tab == "open" else Escalation.objects.filter(closed_at__isnull=False)
    if after is None:
        return _ordered(tab, rows)
    last = Escalation.objects.only("opened_at", "closed_at").filter(id=after).first()
    if last is None or (tab == "closed" and last.closed_at is None):
        raise UnknownCursor
    if tab == "open":
        beyond = Q(opened_at__gt=last.opened_at) | Q(opened_at=last.opened_at, id__gt=last.id)
        return _ordered(tab, rows.filter(beyond, opened_at__gte=last.opened_at))
    beyond = Q(closed_at__lt=last.closed_at) | Q(closed_at=last.closed_at, id__lt=last.id)
    return _ordered(tab, rows.filter(beyond, closed_at__lte=last.closed_at))


def _ordered(tab: Tab, rows: "QuerySet[Escalation]") -> "QuerySet[Escalation]":
    return rows.order_by("opened_at", "id") if tab == "open" else rows.order_by("-closed_at", "-id")


def _shown(rows: "QuerySet[Escalation]") -> "QuerySet[Escalation]":
    return rows.select_related("run", "step").only(
        "id", "state", "reason", "to", "tier", "opened_at", "due_at", "overdue_since", "on_timeout", "closed_at",
        "closed_by", "run__pipeline_name", "run__team", "run__stage", "run__status", "run__summary", "run__started_by",
        "step__name", "step__agent", "step__executor", "step__combined_trust", "step__confidence_threshold",
    )  # fmt: skip
