"""Write transactions that survive a deadlock or a lock that could not be had in time."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, transaction

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
            time.sleep(random.uniform(0.01, 0.05) * attempt)  # noqa: S311  (spreading, not secrecy)
    with transaction.atomic():
        return body()
