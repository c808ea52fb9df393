"""Django's SQLite backend with one lock around each write transaction.

SQLite's own busy handler sleeps and retries, which starves writers when several processes and
threads write at once. Queueing for a lock lets each writer start the moment the one before it has
ended.
"""

from typing import Any

from django.db.backends.sqlite3 import base

from vectorstep.db.write_lock import WriteLock, write_lock


class DatabaseWrapper(base.DatabaseWrapper):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held: WriteLock | None = None

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

    def _acquire_write_lock(self) -> None:
        if self.is_in_memory_db() or self._held is not None:
            return
        lock = write_lock(str(self.settings_dict["NAME"]))
        lock.acquire()
        self._held = lock

    def _release_write_lock(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.release()
