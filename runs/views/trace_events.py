"""An event of an agent's trace as pages show it."""

from typing import Any

from runs.views.step_config import value_text

EVENT_HEAD = 2_000
_ICONS = {
    "tool_call": "tool",
    "tool_result": "result",
    "text": "text",
    "thinking": "thought",
    "tool_denied": "cancelled",
}
_TITLES = {
    "tool_call": "Called",
    "tool_result": "Got back",
    "text": "Said",
    "thinking": "Thought",
    "tool_denied": "Was denied",
    "llm_call": "Asked its model",
    "llm_retry": "Asked its model again",
    "model_fallback": "Fell back to another model",
}


def shown(event: Any, number: int) -> dict[str, Any]:
    """The event in words, its text clipped with its true size; ``number`` is its place in the trace, from 0."""
    event = event if isinstance(event, dict) else {"type": "text", "content": event}
    kind = str(event.get("type", ""))
    rest = {name: value for name, value in event.items() if name not in {"type", "name", "is_error", "at", "ts"}}
    body = next((rest[name] for name in ("input", "content", "reason") if len(rest) == 1 and name in rest), rest or "")
    text = value_text(body) if body not in ("", {}, None) else ""
    return {
        "number": number,
        "kind": kind,
        "icon": _ICONS.get(kind, "info"),
        "title": _TITLES.get(kind, kind.replace("_", " ").capitalize() or "Event"),
        "name": str(event.get("name", "")),
        "failed": bool(event.get("is_error")) or kind == "tool_denied",
        "head": text[:EVENT_HEAD],
        "chars": len(text),
        "cut": len(text) > EVENT_HEAD,
    }
