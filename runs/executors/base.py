"""The contract every executor keeps: take a Call, answer with a Reply or raise ExecutorError."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from runs.calling import Deadline, ExecutorError, Stop, Stopped, TraceEvent

__all__ = ["AgentDefinition", "Call", "Deadline", "Executor", "ExecutorError", "Reply", "Stop", "Stopped", "TraceEvent"]


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


class Executor(Protocol):
    kind: str  # its name in pipelines
    is_agent: bool  # answers the agent contract, has S, samples and calibration
    on_interrupted: str  # "rerun", or "escalate" for side effects
    default_timeout: float  # seconds, where neither the step nor its executor_config says

    def agent_name(self, config: Mapping[str, Any]) -> str:
        """The name after ``kind:`` in the agent's identity."""

    def call(self, call: Call, stop: Stop, on_event: Callable[[TraceEvent], None]) -> Reply:
        """Do it, in this thread. ``on_event`` gets each trace event as it comes.

        Raises ExecutorError (Stopped among them) and nothing else.
        """

    def describe(self, config: Mapping[str, Any]) -> AgentDefinition | None:
        """The agent's definition now, or None where the backend has none to tell. May raise ExecutorError."""
