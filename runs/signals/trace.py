"""Showing an agent's trace to a judge: what was called, what came back, each part cut to a length."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runs.executors.base import TraceEvent

ELLIPSIS = "…"
NO_EVENTS = "(no tool calls were reported)"
CANNOT_REPORT = "(this agent's backend cannot report tool calls, so their absence says nothing)"


@dataclass(frozen=True)
class ShownTrace:
    """``cut``: some result, input or text was longer than the judge gets to see."""

    text: str
    cut: bool


def show_trace(events: Sequence[TraceEvent] | None, max_chars: int) -> ShownTrace:
    """The events as numbered lines, each content cut to ``max_chars`` characters with an ellipsis.

    Only an event begins at the start of a line: the further lines of a content are indented, so that an agent's own
    words cannot pass for the result of a tool.
    Thinking and the backend's own bookkeeping (llm_call, llm_retry ...) are left out: they are no evidence.
    """
    if events is None:
        return ShownTrace(CANNOT_REPORT, cut=False)
    lines: list[str] = []
    any_cut = False
    for event in events:
        shown = _show(event)
        if shown is None:
            continue
        heading, content = shown
        content, was_cut = _cut(content, max_chars)
        any_cut = any_cut or was_cut or event.get("truncated") is True
        lines.append(f"[{len(lines) + 1}] {heading}: {_indented(content)}")
    return ShownTrace("\n".join(lines) or NO_EVENTS, cut=any_cut)


def _show(event: TraceEvent) -> tuple[str, str] | None:
    name = f" {' '.join(str(event['name']).split())}" if event.get("name") else ""
    match event.get("type"):
        case "tool_call":
            return f"tool_call{name}", _text(event.get("input", {}))
        case "tool_result":
            kind = "tool_result (error)" if event.get("is_error") else "tool_result"
            return f"{kind}{name}", _text(event.get("content", ""))
        case "tool_denied":
            return f"tool_denied{name}", _text(event.get("reason", ""))
        case "text":
            return "text", _text(event.get("content", ""))
        case _:
            return None


def _indented(text: str) -> str:
    lines = text.splitlines()
    return text if len(lines) < 2 else "\n    ".join(lines)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cut(text: str, max_chars: int) -> tuple[str, bool]:
    if len(text) <= max_chars:
        return text, False
    return text[:max_chars] + ELLIPSIS, True


def clip_trace(events: Sequence[TraceEvent], max_chars: int) -> list[TraceEvent]:
    """The tool calls, results and texts as events, each long content cut to text of ``max_chars`` characters."""
    return [{key: _clip_value(value, max_chars) for key, value in event.items()} for event in events if _show(event)]


def _clip_value(value: Any, max_chars: int) -> Any:
    text, was_cut = _cut(_text(value), max_chars)
    return text if was_cut else value
