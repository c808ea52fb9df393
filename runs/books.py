"""What teams spent by day: written as it happens, added up by the sweeper, read by day and by team."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet, Sum

from calibration.statements import Statement
from runs import rows
from runs.models import Run, Signal, SignalKind, Spending, Step
from runs.spending import Spent, of_priced

COLUMNS = tuple(field.name for field in fields(Spent))
# Loose rows up to this many are as quickly read as a sum; more are added up, so many at a time.
LOOSE = 500
AT_ONCE = 5_000


def day_of(moment: datetime) -> date:
    """The day in UTC that a run counts for."""
    return moment.astimezone(UTC).date()


def booking(run: Run, spent: Spent) -> list[Statement]:
    """What adds it to the day of the run's team."""
    return bookings([(run.team, day_of(run.triggered_at), spent)])


def bookings(entries: Iterable[tuple[str, date, Spent]]) -> list[Statement]:
    """The same for several, one row for each team and day."""
    sums: defaultdict[tuple[str, date], Spent] = defaultdict(Spent)
    for team, day, spent in entries:
        sums[team, day] += spent
    return rows.insertion(
        [Spending(team=team, day=day, **_columns(spent)) for (team, day), spent in sums.items() if spent != Spent()]
    )


def spent_by(run_ids: Sequence[uuid.UUID]) -> list[tuple[Run, Spent]]:
    """What the steps of each run have added to the books. Three queries."""
    judges: defaultdict[uuid.UUID, list[Signal]] = defaultdict(list)
    told = ("step_id", "kind", "state", "provider", "model", "input_tokens", "output_tokens")
    for signal in Signal.objects.filter(step__run_id__in=run_ids).exclude(kind=SignalKind.CHECK).only(*told):
        judges[signal.step_id].append(signal)
    sums: defaultdict[uuid.UUID, Spent] = defaultdict(Spent)
    heavy = ("prompt", "raw_output", "parsed_output", "agent_trace", "trust_report")
    for step in Step.objects.filter(run_id__in=run_ids, completed_at__isnull=False).defer(*heavy):
        sums[step.run_id] += of_priced(step, judges[step.id])
    found = Run.objects.filter(id__in=run_ids).only("team", "triggered_at")
    return [(run, sums[run.id]) for run in found]


def fold() -> int:
    """Add loose rows up into the sum of their team and day; how many those were. Safe to run at once with itself."""
    if not Spending.objects.filter(is_sum=False).order_by("id").values_list("id")[LOOSE - 1 : LOOSE]:
        return 0
    with transaction.atomic():
        loose = Spending.objects.select_for_update(skip_locked=True).filter(is_sum=False).order_by("id")[:AT_ONCE]
        found = list(loose)
        sums: defaultdict[tuple[str, date], Spent] = defaultdict(Spent)
        for row in found:
            sums[row.team, row.day] += _spent(row)
        Spending.objects.filter(id__in=[row.id for row in found]).delete()
        # In one order, so that two sweepers never wait for each other.
        for (team, day), spent in sorted(sums.items()):
            _add_up(team, day, spent)
    return len(found)


def _add_up(team: str, day: date, spent: Spent) -> None:
    columns = _columns(spent)
    sums = ", ".join(f"{name} = runs_spending.{name} + excluded.{name}" for name in columns)
    sql = (
        f"INSERT INTO runs_spending (team, day, is_sum, {', '.join(columns)})"  # noqa: S608 (names of columns)
        f" VALUES (%s, %s, %s, {', '.join(['%s'] * len(columns))})"
        f" ON CONFLICT (team, day) WHERE is_sum DO UPDATE SET {sums}"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [*rows.bound(Spending, team=team, day=day), True, *columns.values()])


def by_team(*, since: date) -> dict[str, Spent]:
    """What each team spent on runs triggered that day or later. One query."""
    return {row["team"]: _of(row) for row in _summed(since, "team")}


def by_day(*, since: date, team: str | None = None) -> dict[date, Spent]:
    """What was spent on runs of each day, by one team or (None) by all; days without any are left out. One query."""
    return {row["day"]: _of(row) for row in _summed(since, "day", team)}


def _summed(since: date, by: str, team: str | None = None) -> "QuerySet[Spending, dict[str, Any]]":
    found = Spending.objects.filter(day__gte=since)
    if team is not None:
        found = found.filter(team=team)
    return found.values(by).annotate(**{f"sum_{name}": Sum(name) for name in COLUMNS}).order_by(by)


def _of(row: Mapping[str, Any]) -> Spent:
    # PostgreSQL gives a sum of large numbers as a Decimal.
    return Spent(**{name: int(row[f"sum_{name}"]) for name in COLUMNS})


def _spent(row: Spending) -> Spent:
    return Spent(**{name: getattr(row, name) for name in COLUMNS})


def _columns(spent: Spent) -> dict[str, int]:
    return {name: getattr(spent, name) for name in COLUMNS}
