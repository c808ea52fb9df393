"""How many runs wait to be started, counted at most once a second per process."""

import threading
import time

from django.conf import settings

from runs.intake.refusals import BacklogFull
from runs.models import Run, RunStatus

COUNTED_EVERY = 1.0  # seconds
RETRY_AFTER = 5  # seconds

_lock = threading.Lock()
_counted_at = float("-inf")
_waiting = 0


def check() -> None:
    """Raises BacklogFull. A run accepted since the last count by this process counts as waiting."""
    global _counted_at, _waiting  # noqa: PLW0603  (one count for the whole process)
    limit = settings.SERVICE.limits.backlog
    with _lock:
        instant = time.monotonic()
        if instant - _counted_at >= COUNTED_EVERY:
            # Never counts past the limit, so a long queue costs no more than a full one.
            _waiting = Run.objects.filter(status=RunStatus.QUEUED)[:limit].count()
            _counted_at = instant
        if _waiting >= limit:
            raise BacklogFull(limit, retry_after=RETRY_AFTER)


def one_more() -> None:
    """A run was just stored."""
    global _waiting  # noqa: PLW0603
    with _lock:
        _waiting += 1


def forget() -> None:
    """Count again at the next check."""
    global _counted_at  # noqa: PLW0603
    with _lock:
        _counted_at = float("-inf")
