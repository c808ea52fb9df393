"""Reading the Gateway's messages that answer one agent call, and building the Reply from them."""

from collections.abc import Callable, Mapping
from typing import Any

from runs.executors.base import ExecutorError, Reply, TraceEvent
from runs.executors.websocket import Connection, ProtocolError
from runs.storable import storable
from runs.wire import Guard


class Refused(ExecutorError):
    """The Gateway answered that the call failed."""


class Exchange:
    """The messages of one call, up to its end.

    ``heard`` tells whether the Gateway has said anything about the call, ``streamed`` holds the trace events so far:
    of all of them together at most ``max_bytes`` are taken.
    """

    def __init__(self, on_event: Callable[[TraceEvent], None], max_bytes: int) -> None:
        self._on_event = on_event
        self._max_bytes = max_bytes
        self._streamed_bytes = 0
        self.heard = False
        self.streamed: list[TraceEvent] = []

    def run(self, connection: Connection, request_id: str, guard: Guard) -> Reply:
        """Raises Refused, ProtocolError, and what the connection raises."""
        while True:
            message = connection.receive(guard)
            if message.get("type") not in ("res", "event"):
                raise ProtocolError(f"sent a message of unknown type {message.get('type')!r}")
            if message["type"] == "event" or message.get("id") != request_id:
                continue  # news for nobody in particular
            self.heard = True
            if message.get("ok") is not True:
                raise Refused(_reason(message.get("error")), trace=self.streamed)
            payload = message.get("payload")
            if not isinstance(payload, dict):
                raise ProtocolError("sent an answer without a payload")
            reply = self._take(payload, connection.message_bytes)
            if reply is not None:
                return reply

    def _take(self, payload: Mapping[str, Any], size: int) -> Reply | None:
        status = payload.get("status")
        if status == "ok":
            return self._finish(payload.get("result"))
        if status == "trace_event":
            self._streamed_bytes += size
            if self._streamed_bytes > self._max_bytes:
                raise ProtocolError(f"sent trace events of more than {self._max_bytes} bytes (limits.answer_bytes)")
            self._keep(payload.get("event"))
        elif status != "accepted":
            raise ProtocolError(f"answered with the unknown status {status!r}")
        return None

    def _keep(self, event: Any) -> None:
        if isinstance(event, dict):
            event = storable(event)
            self.streamed.append(event)
            self._on_event(event)

    def _finish(self, result: Any) -> Reply:
        if not isinstance(result, dict):
            raise ProtocolError("ended the call without a result")
        meta = _mapping(result.get("meta"))
        agent = _mapping(meta.get("agentMeta"))
        usage = _mapping(agent.get("usage"))
        recorded = result.get("trace")
        trace = [storable(event) for event in recorded if isinstance(event, dict)] if isinstance(recorded, list) else []
        reply = Reply(
            text=_joined(result.get("payloads")),
            trace=trace or self.streamed,
            model=_text(agent.get("model")),
            provider=_text(agent.get("provider")),
            agent_version=_text(agent.get("agentVersion")),
            input_tokens=_count(usage.get("input_tokens")),
            output_tokens=_count(usage.get("output_tokens")),
        )
        if meta.get("aborted") is True:
            raise Refused("the agent was aborted at the gateway", raw=reply.text, trace=reply.trace)
        return reply


def _reason(error: Any) -> str:
    message = error.get("message") if isinstance(error, dict) else error
    return f"the gateway could not answer: {message or 'no reason given'}"


def _joined(payloads: Any) -> str:
    if not isinstance(payloads, list):
        raise ProtocolError("ended the call with a result that has no payloads")
    return "\n".join(
        payload["text"] for payload in payloads if isinstance(payload, dict) and isinstance(payload.get("text"), str)
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
