"""Django's SQLite backend with one lock around each write transaction.

SQLite's own busy handler sleeps and retries, which starves writers when several processes and
threads write at once. Queueing for a lock (threads of this process first, then a lock file shared
with the other processes) lets each writer start the moment the one before it has ended.
"""

import fcntl
import os
import threading
from typing import Any

from django.db.backends.sqlite3 import base

_thread_lock = threading.Lock()


class DatabaseWrapper(base.DatabaseWrapper):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lock_file: int | None = None
        self._holds_lock = False

    def _start_transaction_under_autocommit(self) -> None:
        self._acquire_write_lock()
        try:
            super()._start_transaction_under_autocommit()
        except BaseException:
            self._release_write_lock()
            raise

    def _commit(self) -> None:
        super()._commit()
        # Only after success: a failed commit is followed by a rollback, which releases.
        self._release_write_lock()

    def _rollback(self) -> None:
        try:
            super()._rollback()
        finally:
            self._release_write_lock()

    def _close(self) -> None:
        try:
            super()._close()
        finally:
            self._release_write_lock()
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None

    def _acquire_write_lock(self) -> None:
        if self.is_in_memory_db() or self._holds_lock:
            return
        _thread_lock.acquire()
        try:
            if self._lock_file is None:
                path = f"{self.settings_dict['NAME']}.lock"
                self._lock_file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock_file, fcntl.LOCK_EX)
        except BaseException:
            _thread_lock.release()
            raise
        self._holds_lock = True

    def _release_write_lock(self) -> None:
        if not self._holds_lock:
            return
        self._holds_lock = False
        assert self._lock_file is not None
        fcntl.flock(self._lock_file, fcntl.LOCK_UN)
        _thread_lock.release()
