"""The marking queue's filters, as they stand in a query string."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import F, Q, QuerySet, TextField, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact
from django.http import QueryDict

from calibration.models import LabelSource, Order
from runs import filtering
from runs.filtering import BadFilter
from runs.literals import literal
from runs.marking.names import Known, known
from runs.models import QueueItem
from runs.models.run import STAGES

NAMES = ("pipeline", "step", "agent", "team", "stage", "label", "age")
_PLURALS = {"pipeline": "pipelines", "step": "steps", "agent": "agents", "team": "teams"}  # as in Known
ORDERS = (Order.OLDEST, Order.NEWEST, Order.USEFUL, Order.RANDOM)
UNLABELLED = "none"
LABELS = {
    UNLABELLED: "no label yet",
    LabelSource.FAILED_CHECK.value: "a check failed",
    LabelSource.RUN_MARK.value: "the run was marked",
    LabelSource.STEP_MARK.value: "marked once, a second opinion is wanted",
}
_MONTH = dt.timedelta(days=30)
AGES: dict[str, tuple[str, Callable[[dt.datetime], Q]]] = {
    "24h": ("last 24 hours", lambda now: Q(finished_at__gte=now - dt.timedelta(days=1))),
    "7d": ("last 7 days", lambda now: Q(finished_at__gte=now - dt.timedelta(days=7))),
    "30d": ("last 30 days", lambda now: Q(finished_at__gte=now - _MONTH)),
    "older": ("older than 30 days", lambda now: Q(finished_at__lt=now - _MONTH)),
}


@dataclass(frozen=True)
class QueueFilters:
    """ "" means any. ``step`` is a step with all its branches (``group``, not ``group/branch``)."""

    pipeline: str = ""
    step: str = ""
    agent: str = ""
    team: str = ""
    stage: str = ""
    label: str = ""
    age: str = ""

    def chosen(self) -> dict[str, str]:
        """The filters that are set, as they stand in a query string."""
        return {name: getattr(self, name) for name in NAMES if getattr(self, name)}

    def apply(self, items: QuerySet[QueueItem], *, now: dt.datetime, by_index: bool = True) -> QuerySet[QueueItem]:
        """``by_index=False``: for a walk along an order, in which an index of the filters would only be in the way."""
        columns = {"pipeline": "pipeline", "step": "group", "agent": "agent", "team": "team", "stage": "stage"}
        chosen = {column: getattr(self, name) for name, column in columns.items() if getattr(self, name)}
        if self.label:
            chosen["label_source"] = "" if self.label == UNLABELLED else self.label
        if by_index:
            label = {"label_source": literal(LabelSource(chosen.pop("label_source")).value)} if self.label else {}
            items = items.filter(**chosen, **label)
        else:
            items = items.filter(*(Exact(_in_no_index(column), value) for column, value in chosen.items()))
        return items.filter(AGES[self.age][1](now)) if self.age else items


def _in_no_index(column: str) -> Coalesce:
    """The column's own value, as an expression."""
    return Coalesce(F(column), Value(""), output_field=TextField())


def parse(query: QueryDict, names: Callable[[], Known] = known) -> QueueFilters:
    """Raises BadFilter naming each value that is not among the allowed ones. ``names`` is asked only where a filter
    by name is set.
    """
    values, problems = filtering.values_of(query, NAMES), []
    by_name = {name: values[name] for name, plural in _PLURALS.items() if values[name]}
    if by_name:
        found = names()
        problems += filtering.unknown(by_name, {name: getattr(found, _PLURALS[name]) for name in by_name})
    problems += filtering.unknown(values, {"stage": STAGES, "label": LABELS, "age": AGES})
    if problems:
        raise BadFilter(problems)
    return QueueFilters(**values)


def parse_order(query: QueryDict) -> Order:
    """The order asked for, oldest first by default. Raises BadFilter for an unknown one."""
    if problems := filtering.unknown({"order": query.get("order", "")}, {"order": ORDERS}):
        raise BadFilter(problems)
    return Order(query.get("order") or Order.OLDEST)
