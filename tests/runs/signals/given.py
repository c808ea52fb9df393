"""What the tests of the signals are given: subjects, and judges that are real little programs."""

import json
from typing import Any

from runs.executors.base import Stop, TraceEvent
from runs.signals.base import Subject

ANSWER = {"confidence": 0.9, "summary": "The disk is full.", "next_step_context": "", "disk": "sda1", "percent": 97}
TRACE: list[TraceEvent] = [
    {"type": "thinking", "content": "Let me see."},
    {"type": "tool_call", "name": "df", "input": {"path": "/"}},
    {"type": "tool_result", "name": "df", "content": "sda1 97%", "is_error": False},
]


def subject(**changes: Any) -> Subject:
    answer = changes.pop("answer", ANSWER)
    given = {
        "prompt": "Why does the service fail?",
        "answer": answer,
        "answer_text": json.dumps(answer),
        "trace": TRACE,
        "primary_confidence": answer.get("confidence"),
        "context": {"summary": "It fails.", "vars": {"limit": 90}},
        "call_context": {"run_id": "r1", "pipeline": "p", "step": "s"},
        "idempotency_key": "s-0",
    }
    return Subject(**(given | changes))


def says(text: str, *, seconds: float = 0) -> dict[str, Any]:
    """The executor_config of a judge that reads its task, takes its time and prints ``text``."""
    return {"agent": "judge", "command": ["sh", "-c", f'cat >/dev/null; sleep {seconds}; printf %s "$1"', "sh", text]}


def echoes() -> dict[str, Any]:
    """A judge whose summary is all that it was sent."""
    program = (
        "import json,sys; print(json.dumps({'confidence': 0.5, 'summary': sys.stdin.read(), 'next_step_context': ''}))"
    )
    return {"agent": "echo", "command": ["python", "-c", program]}


def verdict(confidence: Any, **more: Any) -> str:
    return json.dumps({"confidence": confidence, "summary": "Seen.", "next_step_context": "", **more})


def no_stop() -> Stop:
    return Stop()
