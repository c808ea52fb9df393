"""How a fake agent of the fake Gateway behaves."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ANSWER = json.dumps({"confidence": 0.95, "summary": "done", "next_step_context": "nothing left to do"})
VERDICT = json.dumps(
    {
        "confidence": 0.9,
        "summary": "each claim is supported",
        "next_step_context": "",
        "reasoning": {"claims": [{"claim": "the count is 3", "supported": True, "evidence": "tool result"}]},
    }
)
TRACE = (
    {"type": "llm_call", "iteration": 1},
    {"type": "tool_call", "name": "count", "input": {"what": "errors"}},
    {"type": "tool_result", "name": "count", "content": "3", "is_error": False},
)


@dataclass(frozen=True)
class Script:
    """How an agent behaves, in this order: ``raw`` sent as it is, trace, delay, then one of the ends."""

    answer: str | Callable[[dict[str, Any]], str] = ANSWER
    payloads: tuple[str, ...] | None = None  # instead of the one answer
    delay: float = 0.0
    event_delay: float = 0.0  # before each streamed event
    trace: tuple[dict[str, Any], ...] = ()
    streamed: bool = True
    trace_in_result: bool = True
    error: str = ""  # answers ok: false
    aborted: bool = False
    raw: tuple[str | bytes, ...] = ()  # messages outside the script; bytes go out as raw TCP data
    flood: bytes = b""  # raw TCP data sent over and over as fast as it is taken, instead of ending the call
    goodbye: bytes = b""  # raw TCP data after the end of the call
    leaves: bool = False  # drops the connection instead of accepting the call
    dies: bool = False  # drops the connection instead of ending the call
    silent: bool = False  # never ends the call
    model: str = "fake-1"
    provider: str = "fake"
    version: str = "0123456789ab"
    usage: tuple[int, int] | None = (100, 20)
    soul: str = "You are a fake."
    config: str = "name: fake\n"

    def result(self, params: dict[str, Any]) -> dict[str, Any]:
        answer = self.answer(params) if callable(self.answer) else self.answer
        agent_meta: dict[str, Any] = {"provider": self.provider, "model": self.model, "agentVersion": self.version}
        if self.usage:
            agent_meta["usage"] = {"input_tokens": self.usage[0], "output_tokens": self.usage[1]}
        result: dict[str, Any] = {
            "payloads": [{"text": text} for text in self.payloads or (answer,)],
            "meta": {"durationMs": int(self.delay * 1000), "agentMeta": agent_meta, "aborted": self.aborted},
        }
        if self.trace_in_result:
            result["trace"] = list(self.trace)
        return result
