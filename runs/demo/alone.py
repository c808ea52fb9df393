"""One maker of the demo at a time on this machine."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from django.conf import settings

LOOK_EVERY = 0.1  # seconds between two looks at whether who is at it has ended


class AlreadyAtIt(Exception):
    """Somebody is making or removing the demo at this moment."""


@contextmanager
def alone(*, meanwhile: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold others off. Who is at it is waited for with ``meanwhile`` called again and again, or else AlreadyAtIt."""
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
    with (settings.VAR_DIR / "demo.lock").open("w") as lock:
        while not _had(lock):
            if meanwhile is None:
                raise AlreadyAtIt
            meanwhile()
            time.sleep(LOOK_EVERY)
        yield


def _had(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
