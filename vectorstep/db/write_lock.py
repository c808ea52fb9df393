"""Whose turn it is to write to a SQLite file: one transaction at a time, of all threads and processes.

Those who answer somebody that waits (the web process, a command) go before those who have stepped
back (the workers). A plain lock would not do: a worker whose threads write one after the other
takes it again while the waiting process is still being woken.
"""

import fcntl
import os
import threading
from collections.abc import Callable
from functools import cache

_stepped_back = threading.Event()


def step_back() -> None:
    """From now on this process lets the others go first."""
    _stepped_back.set()


class WriteLock:
    """Three lock files, taken in this order: ``queue`` by those who stepped back, ``next`` and ``turn`` by everyone.

    Whoever has ``turn`` writes; ``next`` is let go once it is had. So of those who stepped back only
    one competes for ``next``, and one of the others that holds it has the turn after the present one.
    """

    def __init__(self, path: str, *, is_patient: Callable[[], bool] = _stepped_back.is_set) -> None:
        self._path = path
        self._is_patient = is_patient
        self._thread = threading.Lock()  # a lock file is held by a process: its threads queue here
        self._files: list[int] = []
        self._held: list[int] = []
        os.register_at_fork(after_in_child=self._forget)

    def acquire(self) -> None:
        self._thread.acquire()
        try:
            if not self._files:
                self._files = [_open(f"{self._path}.{name}") for name in ("queue", "next", "turn")]
            queue, following, turn = self._files
            if self._is_patient():
                self._lock(queue)
            self._lock(following)
            self._lock(turn)
            self._unlock(following)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let go of whatever is held."""
        for file in reversed(self._held):
            fcntl.flock(file, fcntl.LOCK_UN)
        self._held.clear()
        self._thread.release()

    def _lock(self, file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)
        self._held.append(file)

    def _unlock(self, file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
        self._held.remove(file)

    def _forget(self) -> None:
        """In a forked child: the parent's locks belong to the parent, and so do its open files."""
        self._thread = threading.Lock()
        for file in self._files:
            os.close(file)
        self._files, self._held = [], []


@cache
def write_lock(path: str) -> WriteLock:
    """The one lock this process has for the database file."""
    return WriteLock(path)


def _open(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
