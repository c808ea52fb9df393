"""INSERT, UPDATE and reading one row, with statements whose text is built once, for what every run does.

The ORM builds its SQL anew for each call, which costs several times what the database takes to
run it. Values are the same ones the ORM would bind or read.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, TypeVar

from django.db import connection, models

from calibration.statements import Statement, execute

# In one statement; SQLite may be built for 32,766 of them, PostgreSQL takes 65,535.
MOST_VALUES = 30_000

Adapt = Callable[[Any], Any]
Converter = Callable[[Any, Any, Any], Any]
M = TypeVar("M", bound=models.Model)


def insert(rows: Sequence[models.Model]) -> None:
    """Insert new rows of one model, in order. Auto keys are not read back."""
    execute(insertion(rows))


def insertion(rows: Sequence[models.Model]) -> list[Statement]:
    """The few statements that insert the rows."""
    if not rows:
        return []
    columns = _columns(type(rows[0]), connection.vendor)
    head = _insert_head(type(rows[0]), connection.vendor)
    one = f"({', '.join(['%s'] * len(columns))})"
    at_most = MOST_VALUES // len(columns)
    batches = [rows[start : start + at_most] for start in range(0, len(rows), at_most)]
    return [
        Statement(
            f"{head} {', '.join([one] * len(batch))}",
            [adapt(getattr(row, name)) for row in batch for name, adapt in columns],
        )
        for batch in batches
    ]


def change(
    model: type[models.Model],
    values: Mapping[str, Any],
    where: Mapping[str, Any],
    *,
    add: Mapping[str, int] | None = None,
    otherwise: Callable[[], None] | None = None,
) -> Statement:
    """``UPDATE ... SET values, column = column + add WHERE all of where``, by attribute names.

    ``otherwise`` is called when that is no row.
    """
    adapt = dict(_columns(model, connection.vendor))
    sql = _update_sql(model, connection.vendor, tuple(values), tuple(add or ()), tuple(where))
    parts = (values, add or {}, where)
    return Statement(sql, [adapt[name](value) for given in parts for name, value in given.items()], otherwise)


def bound(model: type[models.Model], **values: Any) -> list[Any]:
    """Values as a hand-written statement binds them, in the order given, by the attributes they belong to."""
    adapt = dict(_columns(model, connection.vendor))
    return [adapt[name](value) for name, value in values.items()]


def one(model: type[M], where: Mapping[str, Any], *, without: tuple[str, ...] = ()) -> M | None:
    """The row that matches all of ``where``, as the ORM would read it with the fields of ``without`` deferred."""
    adapt = dict(_columns(model, connection.vendor))
    sql, names, converters = _select(model, connection.vendor, tuple(where), without)
    with connection.cursor() as cursor:
        cursor.execute(sql, [adapt[name](value) for name, value in where.items()])
        found = cursor.fetchone()
    if found is None:
        return None
    values = list(found)
    for position, expression, convert in converters:
        values[position] = convert(values[position], expression, connection)
    return model.from_db(connection.alias, names, values)


@cache
def _select(
    model: type[models.Model], vendor: str, where: tuple[str, ...], without: tuple[str, ...]
) -> tuple[str, list[str], list[tuple[int, Any, Converter]]]:
    fields = [field for field in model._meta.concrete_fields if field.attname not in without]
    columns = ", ".join(_quoted(model, field.attname) for field in fields)
    conditions = " AND ".join(f"{_quoted(model, name)} = %s" for name in where)
    converters = []
    for position, field in enumerate(fields):
        expression = field.get_col(model._meta.db_table)
        found = [*connection.ops.get_db_converters(expression), *expression.get_db_converters(connection)]
        converters += [(position, expression, convert) for convert in found]
    sql = f"SELECT {columns} FROM {connection.ops.quote_name(model._meta.db_table)} WHERE {conditions}"  # noqa: S608
    return sql, [field.attname for field in fields], converters


@cache
def _insert_head(model: type[models.Model], vendor: str) -> str:
    names = ", ".join(_quoted(model, name) for name, _ in _columns(model, vendor))
    return f"INSERT INTO {connection.ops.quote_name(model._meta.db_table)} ({names}) VALUES"


@cache
def _update_sql(
    model: type[models.Model], vendor: str, values: tuple[str, ...], add: tuple[str, ...], where: tuple[str, ...]
) -> str:
    added = (f"{(column := _quoted(model, name))} = {column} + %s" for name in add)
    changes = ", ".join([*(f"{_quoted(model, name)} = %s" for name in values), *added])
    conditions = " AND ".join(f"{_quoted(model, name)} = %s" for name in where)
    return f"UPDATE {connection.ops.quote_name(model._meta.db_table)} SET {changes} WHERE {conditions}"  # noqa: S608


@cache
def _columns(model: type[models.Model], vendor: str) -> list[tuple[str, Adapt]]:
    """Attribute name and how its values are bound, for each column but an automatic key."""
    fields = model._meta.concrete_fields
    return [(field.attname, _adapter(field, vendor)) for field in fields if not isinstance(field, models.AutoField)]


def _quoted(model: type[models.Model], attribute: str) -> str:
    column = next(field.column for field in model._meta.concrete_fields if field.attname == attribute)
    assert column is not None  # concrete fields have one
    return connection.ops.quote_name(column)


def _adapter(field: models.Field[Any, Any], vendor: str) -> Adapt:
    # How values are bound depends on the kind of database alone, so one connection's rules serve all.
    ops = connection.ops
    target = field.target_field if isinstance(field, models.ForeignKey) else field
    if isinstance(target, models.JSONField):
        return lambda value: None if value is None else ops.adapt_json_value(value, None)
    if isinstance(target, models.UUIDField) and vendor == "sqlite":
        return lambda value: value.hex if isinstance(value, uuid.UUID) else value
    if isinstance(target, models.DateTimeField):
        # The rows of one transaction share their times.
        return lru_cache(maxsize=64)(ops.adapt_datetimefield_value)
    if isinstance(target, models.DateField):
        return ops.adapt_datefield_value
    if isinstance(target, models.TextField | models.CharField):
        return str  # members of TextChoices are bound as the text they stand for
    return lambda value: value
