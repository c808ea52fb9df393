"""Writes that are made ready before their transaction and run in it together.

A transaction holds locks that others wait for, SQLite's only writer's above all. So values are
adapted before it begins, and on PostgreSQL its statements cross the network in one go.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import Error, connection


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement with its values, as this database takes them. ``otherwise`` is called when it meets no row."""

    sql: str
    values: Sequence[Any]
    otherwise: Callable[[], None] | None = None


def execute(statements: Sequence[Statement]) -> None:
    """Run all, in order, in the transaction at hand.

    Raises what the database or an ``otherwise`` raises, whichever statement comes first: the transaction
    must then be rolled back, since later statements may have run already.
    """
    connection.ensure_connection()
    if connection.queries_logged:
        _one_by_one(statements, _logged)
    elif connection.vendor == "sqlite":
        with connection.wrap_database_errors:
            _one_by_one(statements, _on_sqlite)
    else:
        _together(statements)


def _one_by_one(statements: Sequence[Statement], run: Callable[[Statement], int]) -> None:
    for statement in statements:
        if run(statement) == 0 and statement.otherwise is not None:
            statement.otherwise()


def _together(statements: Sequence[Statement]) -> None:
    """In PostgreSQL's pipeline mode: all are sent before the first is answered."""
    sent: list[Any] = []
    try:
        with connection.wrap_database_errors, connection.connection.pipeline():
            for one in statements:
                sent.append(connection.connection.execute(one.sql, one.values))
    except Error:
        # A statement after one that met no row may fail just because of that: whoever lost its lease and
        # comes too late finds its rows written by another. The first cause is what counts.
        with contextlib.suppress(Error):
            _hear(statements, sent)
        raise
    _hear(statements, sent)


def _hear(statements: Sequence[Statement], sent: Sequence[Any]) -> None:
    for statement, cursor in zip(statements, sent, strict=False):
        if cursor.rowcount == 0 and statement.otherwise is not None:
            statement.otherwise()


def _on_sqlite(statement: Statement) -> int:
    return int(connection.connection.execute(_native(statement.sql), statement.values).rowcount)


def _logged(statement: Statement) -> int:
    """Through Django's cursor, which is slower and writes the statement where tests and ``DEBUG`` look for it."""
    with connection.cursor() as cursor:
        cursor.execute(statement.sql, statement.values)
        return int(cursor.rowcount)


@lru_cache(maxsize=512)
def _native(sql: str) -> str:
    return sql.replace("%s", "?")
