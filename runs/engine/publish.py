"""Telling the workers that there is something to look at. The message is a hint: the row is the truth."""

import logging

from django.db import transaction
from kombu.exceptions import OperationalError

from runs.engine.work import Work

logger = logging.getLogger(__name__)

# With retry switched off, Celery waits six seconds for a broker that is down; one retry without a
# pause answers at once.
_AT_ONCE = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}


def publish(*works: Work, delay: float = 0) -> None:
    """Send the works once the current transaction has committed (at once outside of one).

    A broker that is down is no error: the sweeper publishes again from the database.
    """
    transaction.on_commit(lambda: _send(works, delay))


def _send(works: tuple[Work, ...], delay: float) -> None:
    from runs.tasks import do  # tasks import the engine

    for work in works:
        try:
            do.apply_async(
                (work.kind, str(work.id)),
                countdown=delay or None,
                retry=True,
                retry_policy=_AT_ONCE,
                ignore_result=True,
            )
        except (OperationalError, OSError) as error:
            logger.warning(
                "the broker does not take messages (%s); the sweeper will find %s %s", error, work.kind, work.id
            )
            return
