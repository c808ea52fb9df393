"""Executors that call nobody: the step waits for another run, or for a person (``runs.engine.waiting``)."""

from collections.abc import Callable, Mapping
from typing import Any

from runs.executors.base import AgentDefinition, Call, ExecutorError, Reply, Stop, TraceEvent


class Awaited:
    """What the engine needs to know of them; asking one is the engine's own work."""

    is_agent = False
    on_interrupted = "rerun"
    default_timeout = float("inf")  # without a timeout_seconds of the step it waits for as long as it takes

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def agent_name(self, config: Mapping[str, Any]) -> str:
        return ""

    def call(self, call: Call, stop: Stop, on_event: Callable[[TraceEvent], None]) -> Reply:
        raise ExecutorError(
            f"{self.kind} gives no answer at once; it stands only as the executor of a step", retryable=False
        )

    def describe(self, config: Mapping[str, Any]) -> AgentDefinition | None:
        return None
