"""What people are asked, as lists: what waits, longest first, and what is closed, newest first.

No list costs more the more there is: a page is looked for among a window of rows, and the next page begins where the
window ended.
"""

import datetime as dt
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.functions import Left

from runs.literals import literal
from runs.models import Approval, Decision, Escalation
from runs.pipelines.definitions import group_of

Tab = Literal["open", "closed"]
TABS: tuple[Tab, ...] = ("open", "closed")
WINDOW = 2_000
BADGE = 99
HEAD = 500
AT_ONCE = 200
OPEN = "open"

Asked = TypeVar("Asked", Escalation, Approval)


class UnknownCursor(Exception):
    """The row after which a page was to begin is not there."""


@dataclass(frozen=True)
class Filters:
    """ "" and None mean any. ``step`` is a step, or a group with all its branches; ``to`` is who is asked now.

    ``overdue``: its deadline has passed while it waits, which only an escalation outlives.
    """

    pipeline: str = ""
    step: str = ""
    agent: str = ""
    team: str = ""
    stage: str = ""
    to: str = ""
    overdue: bool = False
    run: uuid.UUID | None = None

    def apply(self, rows: "QuerySet[Asked]", *, now: dt.datetime) -> "QuerySet[Asked]":
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
class Page(Generic[Asked]):
    """``after`` is the id that the next page begins after, None on the last; a page may be empty and not the last."""

    rows: Sequence[Asked]
    after: uuid.UUID | None


@dataclass(frozen=True)
class Listing(Generic[Asked]):
    """The lists of one kind of question; ``shown`` are the columns a list needs of each, its run and its step.

    Of the texts ``headed`` it has the beginning, as ``message_head`` for ``message``.
    """

    model: type[Asked]
    shown: Sequence[str]
    headed: Sequence[str] = ()

    def waiting(self) -> "QuerySet[Asked]":
        """What waits for an answer, in no order."""
        return self.model._default_manager.filter(state=literal(OPEN))

    def closed(self) -> "QuerySet[Asked]":
        # Both conditions: each kind's index of what is closed has one of them.
        return self.model._default_manager.exclude(state=literal(OPEN)).filter(closed_at__isnull=False)

    def count_waiting(self, most: int = BADGE) -> int:
        """How many wait, counted up to ``most`` + 1."""
        return self._counted(most).count()

    def following(self) -> Asked | None:
        """What has waited longest, with nothing but its id."""
        return self.waiting().order_by("opened_at", "id").only("id").first()

    def page(
        self, tab: Tab, filters: Filters, *, now: dt.datetime, size: int, after: uuid.UUID | None = None
    ) -> Page[Asked]:
        """One page with what a list shows of each, its run and its step. Raises UnknownCursor."""
        ordered = self._after(tab, after)
        if filters.run is not None:
            ordered = ordered.filter(run_id=filters.run)
        if filters == Filters():
            rows, window = list(self._shown(ordered)[: size + 1]), None
        else:
            among = self.model._default_manager.filter(id__in=ordered.values("id")[:WINDOW])
            rows = list(self._shown(_ordered(tab, filters.apply(among, now=now)))[: size + 1])
            window = next(iter(ordered.values_list("id", flat=True)[WINDOW - 1 : WINDOW]), None)
        return Page(rows[:size], rows[size - 1].id if len(rows) > size else window)

    def every(self, filters: Filters, *, now: dt.datetime) -> Iterator[Asked]:
        """All that wait, longest first, read a page at a time."""
        after = None
        while True:
            page = self.page("open", filters, now=now, size=AT_ONCE, after=after)
            yield from page.rows
            after = page.after
            if after is None:
                return

    def names(self, tab: Tab) -> Mapping[str, list[str]]:
        """What can be chosen from: the names among the first that a list without filters would show."""
        columns = ("run__pipeline_name", "step__name", "step__agent", "run__team", "to")
        found = list(self._after(tab, None).values_list(*columns)[:WINDOW])
        pipelines, steps, agents, teams, groups = zip(*found, strict=True) if found else ((), (), (), (), ())
        every = {"pipeline": pipelines, "step": map(group_of, steps), "agent": agents, "team": teams, "to": groups}
        return {name: sorted({value for value in values if value}) for name, values in every.items()}

    def _counted(self, most: int) -> "QuerySet[Asked, uuid.UUID]":
        return self.waiting().order_by().values_list("id", flat=True)[: most + 1]

    def _after(self, tab: Tab, after: uuid.UUID | None) -> "QuerySet[Asked]":
        rows = self.waiting() if tab == "open" else self.closed()
        if after is None:
            return _ordered(tab, rows)
        last = self.model._default_manager.only("opened_at", "closed_at").filter(id=after).first()
        if last is None or (tab == "closed" and last.closed_at is None):
            raise UnknownCursor
        if tab == "open":
            beyond = Q(opened_at__gt=last.opened_at) | Q(opened_at=last.opened_at, id__gt=last.id)
            return _ordered(tab, rows.filter(beyond, opened_at__gte=last.opened_at))
        beyond = Q(closed_at__lt=last.closed_at) | Q(closed_at=last.closed_at, id__lt=last.id)
        return _ordered(tab, rows.filter(beyond, closed_at__lte=last.closed_at))

    def _shown(self, rows: "QuerySet[Asked]") -> "QuerySet[Asked]":
        heads = {f"{name}_head": Left(name, HEAD) for name in self.headed}
        return rows.select_related("run", "step").only(*_SHOWN, *self.shown).annotate(**heads)


_SHOWN = (
    "id", "state", "reason", "to", "opened_at", "due_at", "closed_at", "closed_by",
    "run__pipeline_name", "run__team", "run__stage", "run__status", "run__summary", "run__started_by",
    "step__name", "step__agent", "step__executor",
)  # fmt: skip

ESCALATIONS = Listing(
    Escalation, ("tier", "overdue_since", "on_timeout", "step__combined_trust", "step__confidence_threshold")
)
APPROVALS = Listing(Approval, ("kind", "name"), headed=["message"])


def counts_waiting(most: int = BADGE) -> tuple[int, int]:
    """How many escalations and how many approvals wait, each counted up to ``most`` + 1. One query."""
    compiled = [one._counted(most).query.sql_with_params() for one in (ESCALATIONS, APPROVALS)]
    counts = ", ".join(f"(SELECT COUNT(*) FROM ({sql}) AS waiting)" for sql, _ in compiled)  # noqa: S608 (both texts are the ORM's own)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {counts}", [value for _, params in compiled for value in params])
        escalations, approvals = cursor.fetchone()
    return escalations, approvals


def closing(escalations: Sequence[Escalation]) -> dict[uuid.UUID, Decision]:
    """By escalation, the decision that closed it; none for those that were withdrawn. One query."""
    closed = [one.id for one in escalations if one.closed_at is not None]
    decisions = Decision.objects.filter(escalation_id__in=closed).exclude(kind=Decision.Kind.ESCALATE).defer("changes")
    return {decision.escalation_id: decision for decision in decisions}


def _ordered(tab: Tab, rows: "QuerySet[Asked]") -> "QuerySet[Asked]":
    return rows.order_by("opened_at", "id") if tab == "open" else rows.order_by("-closed_at", "-id")
