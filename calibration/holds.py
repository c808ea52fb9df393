"""Locks around a change of labels, so that no sample misses a mark and no two changes wait in a circle.

The order is the same everywhere: the table of samples, rows of samples in order of id, rows of
tallies in the order of ``tallies.Place``.
"""

from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from calibration.models import Sample


def hold_rows(samples: QuerySet[Sample]) -> list[Sample]:
    """``samples`` locked in order of id until the transaction ends."""
    # Before any row lock: a row lock first and a table lock later could wait in a circle.
    _lock_samples("ROW EXCLUSIVE")
    return list(samples.select_for_update().order_by("id"))


def hold_group(group: UUID) -> list[Sample]:
    """The samples of ``group``, locked, and none can arrive until this transaction ends.

    On PostgreSQL a transaction that has inserted its sample and not yet committed would neither see
    a mark on the group nor be seen by it. On SQLite there is only ever one write transaction.
    """
    hold_off_samples()
    return list(Sample.objects.select_for_update().filter(group=group).order_by("id"))


def hold_off_samples() -> None:
    """Until this transaction ends no label changes and no sample arrives."""
    _lock_samples("SHARE ROW EXCLUSIVE")


def _lock_samples(mode: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {Sample._meta.db_table} IN {mode} MODE")
