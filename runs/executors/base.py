"""The contract every executor keeps: take a Call, answer with a Reply or raise ExecutorError."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

TraceEvent = dict[str, Any]
"""``{"type": "tool_call", "name": ..., "input": ...}`` and the other types of the Gateway's trace."""


@dataclass(frozen=True)
class Call:
    """What is asked. ``config`` is the step's executor_config with its templates rendered."""

    prompt: str
    config: Mapping[str, Any]
    timeout: float  # seconds for this attempt; the executor itself enforces it
    idempotency_key: str
    context: Mapping[str, Any] = field(default_factory=dict)  # run_id, pipeline, step, role, and the payload


@dataclass(frozen=True)
class Reply:
    """What came back. "" is "not reported"; a trace of None is "cannot report tool calls"."""

    text: str
    trace: list[TraceEvent] | None = None
    model: str = ""
    provider: str = ""
    agent_version: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)  # for executors that are no agents (webhook: status_code)


@dataclass(frozen=True)
class AgentDefinition:
    """An agent's text as its backend tells it; ``version`` is what the text belongs to."""

    version: str
    soul: str = ""
    config: str = ""


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


class Executor(Protocol):
    kind: str  # its name in pipelines
    is_agent: bool  # answers the agent contract, has S, samples and calibration
    on_interrupted: str  # "rerun", or "escalate" for side effects

    def agent_name(self, config: Mapping[str, Any]) -> str:
        """The name after ``kind:`` in the agent's identity."""

    def call(self, call: Call, stop: Stop, on_event: Callable[[TraceEvent], None]) -> Reply:
        """Do it, in this thread. ``on_event`` gets each trace event as it comes.

        Raises ExecutorError (Stopped among them) and nothing else.
        """

    def describe(self, config: Mapping[str, Any]) -> AgentDefinition | None:
        """The agent's definition now, or None where the backend has none to tell. May raise ExecutorError."""
