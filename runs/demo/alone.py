"""One maker of the demo at a time on this machine."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings


class AlreadyAtIt(Exception):
    """Somebody is making or removing the demo at this moment."""


@contextmanager
def alone(*, wait: bool = False) -> Iterator[None]:
    """Hold others off; waits for who is at it, or else raises AlreadyAtIt."""
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
    with (settings.VAR_DIR / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise AlreadyAtIt from error
        yield
