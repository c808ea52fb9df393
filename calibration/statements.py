"""Writes that are made ready before their transaction and run in it together.

A transaction holds locks that others wait for, SQLite's only writer's above all. So values are
adapted before it begins, and on PostgreSQL its statements cross the network in one go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import connection


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement with its values, as this database takes them. ``otherwise`` is called when it meets no row."""

    sql: str
    values: Sequence[Any]
    otherwise: Callable[[], None] | None = None


def execute(statements: Sequence[Statement]) -> None:
    """Run all, in order, in the transaction at hand.

    Raises what the database or an ``otherwise`` raises: the transaction must then be rolled back,
    since later statements may have run already.
    """
    for statement, met in zip(statements, _rows_met(statements), strict=True):
        if not met and statement.otherwise is not None:
            statement.otherwise()


def _rows_met(statements: Sequence[Statement]) -> list[int]:
    """How many rows each statement inserted, changed or found."""
    connection.ensure_connection()
    if connection.queries_logged:
        return [_logged(one) for one in statements]
    with connection.wrap_database_errors:
        if connection.vendor == "sqlite":
            run = connection.connection.execute
            return [run(_native(one.sql), one.values).rowcount for one in statements]
        with connection.connection.pipeline():
            sent = [connection.connection.execute(one.sql, one.values) for one in statements]
        return [cursor.rowcount for cursor in sent]


def _logged(statement: Statement) -> int:
    """Through Django's cursor, which is slower and writes the statement where tests and ``DEBUG`` look for it."""
    with connection.cursor() as cursor:
        cursor.execute(statement.sql, statement.values)
        return int(cursor.rowcount)


@lru_cache(maxsize=512)
def _native(sql: str) -> str:
    return sql.replace("%s", "?")
