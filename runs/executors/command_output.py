"""Reading a program's standard output: lines of the protocol among lines of text."""

import json
from collections.abc import Callable
from typing import Any

from runs.calling import TraceEvent
from runs.storable import storable

TRACE_TYPES = frozenset(
    {
        "llm_call",
        "llm_retry",
        "model_fallback",
        "thinking",
        "text",
        "tool_call",
        "tool_result",
        "tool_denied",
    }
)
_TYPES = TRACE_TYPES | {"answer", "model", "usage"}


class Output:
    """Fed with bytes as they come; ``finish`` reads what is left when the program has ended."""

    def __init__(self, on_event: Callable[[TraceEvent], None]) -> None:
        self._on_event = on_event
        self._unread: list[bytes] = []
        self._text: list[str] = []
        self._answer: str | None = None
        self.trace: list[TraceEvent] = []
        self.model = ""
        self.provider = ""
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None

    @property
    def text(self) -> str:
        """The last ``answer`` record, else all output that is not of the protocol."""
        return self._answer if self._answer is not None else "".join(self._text)

    def feed(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._unread.append(line)
            self._line(b"".join(self._unread) + b"\n")
            self._unread.clear()
        if rest:
            self._unread.append(rest)

    def finish(self) -> None:
        """Call once. Text beside an ``answer`` record is kept as the last event of the trace."""
        if self._unread:
            self._line(b"".join(self._unread))
            self._unread.clear()
        beside = "".join(self._text).strip()
        if self._answer is not None and beside:
            self._event({"type": "text", "content": beside})

    def _line(self, line: bytes) -> None:
        message = _protocol_message(line)
        if message is None:
            self._text.append(line.decode("utf-8", "replace"))
        elif message["type"] in TRACE_TYPES:
            self._event(message)
        else:
            self._record(message)

    def _event(self, event: TraceEvent) -> None:
        event = storable(event)
        self.trace.append(event)
        self._on_event(event)

    def _record(self, record: dict[str, Any]) -> None:
        if record["type"] == "answer":
            answer = record.get("answer", record.get("text", ""))
            self._answer = answer if isinstance(answer, str) else json.dumps(answer)
        elif record["type"] == "model":
            self.model = _text(record.get("model"))
            self.provider = _text(record.get("provider"))
        else:
            self.input_tokens = _sum(self.input_tokens, record.get("input_tokens"))
            self.output_tokens = _sum(self.output_tokens, record.get("output_tokens"))


def _protocol_message(line: bytes) -> dict[str, Any] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    kind = message.get("type") if isinstance(message, dict) else None
    return message if isinstance(kind, str) and kind in _TYPES else None


def _text(value: Any) -> str:
    return str(storable(value)) if isinstance(value, str) else ""


def _sum(so_far: int | None, value: Any) -> int | None:
    """Usage may come in several records, one per call to a model."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return so_far
    return (so_far or 0) + value
