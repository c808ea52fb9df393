"""What every call to the outside shares: a deadline, a way to be stopped, and the error it ends with."""

import threading
import time
from collections.abc import Callable
from typing import Any

TraceEvent = dict[str, Any]
"""``{"type": "tool_call", "name": ..., "input": ...}`` and the other types of the Gateway's trace."""


class ExecutorError(Exception):
    """The call failed. ``raw`` keeps whatever text had arrived; ``retryable`` says whether trying again can help."""

    def __init__(self, message: str, *, retryable: bool = True, raw: str = "", trace: list[TraceEvent] | None = None):
        super().__init__(message)
        self.retryable = retryable
        self.raw = raw
        self.trace = trace


class Stopped(ExecutorError):
    """The call was told to stop (the run was cancelled, or the lease went to another worker)."""

    def __init__(self) -> None:
        super().__init__("stopped", retryable=False)


class Stop:
    """A request to stop, set from another thread; whoever waits registers how it can be interrupted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._callbacks: dict[int, Callable[[], None]] = {}

    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        with self._lock:
            self._event.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()

    def on_stop(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` once when the stop comes (at once if it has come); returns how to take it back."""
        with self._lock:
            if not self._event.is_set():
                key = id(callback)
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)

    def raise_if_set(self) -> None:
        if self.is_set():
            raise Stopped


class Deadline:
    """A point on the monotonic clock; ``left()`` never goes below 0."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        return max(0.0, self._at - time.monotonic())

    def passed(self) -> bool:
        return self.left() == 0.0
