"""Telling the workers that there is something to look at. The message is a hint: the row is the truth."""

import logging
import time
import uuid
from datetime import timedelta

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from runs.engine.work import Work

logger = logging.getLogger(__name__)

# A message that was published is given this long before the sweeper publishes the work again.
PATIENCE = timedelta(seconds=30)

# With retry switched off, Celery waits six seconds for a broker that is down; one retry without a
# pause answers at once.
_AT_ONCE = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}


# Finding out that a broker has frozen takes seconds. After that, this many seconds pass before it is asked again:
# not every request of a busy server may wait for it.
LEFT_ALONE = 2.0
_left_alone_until = float("-inf")


def publish(*works: Work, delay: float = 0, insist: bool = False) -> None:
    """Send the works once the current transaction has committed (at once outside of one).

    A broker that is down is no error: the sweeper publishes again from the database. ``insist``:
    also when the broker was down a moment ago.
    """
    transaction.on_commit(lambda: _send(works, delay, insist))


def publish_snapshot(step_id: uuid.UUID) -> None:
    """Ask for the text of the agent version that this step met first. Best effort: the next sighting asks again."""
    transaction.on_commit(lambda: _apply("runs.tasks.snapshot", str(step_id)))


def _send(works: tuple[Work, ...], delay: float, insist: bool) -> None:
    for work in works:
        if not _apply("runs.tasks.do", work.kind, str(work.id), delay=delay, insist=insist):
            return


def _apply(task: str, *arguments: str, delay: float = 0, insist: bool = False) -> bool:
    """By its name: the tasks import the engine, which must not import them back."""
    global _left_alone_until  # noqa: PLW0603  (one broker for the whole process)
    if time.monotonic() < _left_alone_until and not insist:
        return False
    try:
        current_app.send_task(
            task, arguments, countdown=delay or None, retry=True, retry_policy=_AT_ONCE, ignore_result=True
        )
    except (OperationalError, OSError) as error:
        _left_alone_until = time.monotonic() + LEFT_ALONE
        logger.warning("the broker takes no messages (%s); the sweeper will publish %s again", error, arguments)
        return False
    return True
