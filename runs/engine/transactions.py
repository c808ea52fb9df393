"""Write transactions that survive a deadlock or a lock that could not be had in time."""

import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from django.conf import settings
from django.db import OperationalError, transaction

from calibration.statements import Statement, execute

T = TypeVar("T")
TRIES = 4


def write(body: Callable[[], T]) -> T:
    """Run ``body`` in a transaction and return its value; again, from the start, if the database refused it.

    ``body`` must be safe to repeat: what it changes outside the database must not matter.
    Raises OperationalError after the last try, and whatever else ``body`` raises.
    """
    for attempt in range(1, TRIES):
        try:
            with transaction.atomic():
                return body()
        except OperationalError:
            if transaction.get_connection().in_atomic_block:
                raise  # an outer transaction is broken too: only its owner can repeat it
            drop_dead_connections()
            time.sleep(random.uniform(0.01, 0.05) * attempt)  # noqa: S311  (spreading, not secrecy)
    with transaction.atomic():
        return body()


def write_all(statements: Sequence[Statement]) -> None:
    """Run statements that are ready in a transaction of their own. Raises as ``write``, and what they raise."""
    write(lambda: execute(statements))


def drop_dead_connections() -> None:
    """After a restart of the database every pooled connection is dead: do not let each be found out by a failure."""
    connection = transaction.get_connection()
    connection.close_if_unusable_or_obsolete()
    pool = None if settings.ON_SQLITE else connection.pool
    if pool is not None:
        pool.check()
