"""What a signal is asked and what it answers, without a database: plain values in, plain values out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs.executors.base import TraceEvent


@dataclass(frozen=True)
class Subject:
    """The answered step under judgement."""

    prompt: str  # what the primary was asked
    answer: Mapping[str, Any]  # the parsed answer
    answer_text: str  # the raw answer
    trace: list[TraceEvent] | None  # None: the executor cannot report tools
    primary_confidence: float | None
    context: Mapping[str, Any]  # the template context of the step, for checks (they also see `output`)
    call_context: Mapping[str, Any] = field(default_factory=dict)  # run_id, pipeline, step, for executors
    idempotency_key: str = ""
    blind_prompt: str | None = None  # in a loop: what the first iteration was asked, without loop.*; else None


@dataclass(frozen=True)
class Outcome:
    """What one signal found.

    ``state`` is "done", "failed" (wanted, missing, ``error`` says why) or "skipped" (not triggered).
    ``score`` is V or G in [0, 1] or None; ``passed`` is a check's verdict (False when it failed to
    run: checks fail closed). ``detail`` holds, by kind:

    - verifier: ``mode``, ``warnings`` [text], ``reasoning`` (the judge's summary), ``problems`` [text] of a critic,
      ``trace_cut`` bool; of an independent one ``differs`` [{field, primary, verifier}] and ``trace`` (cut)
    - grounding: ``claims`` [{claim, supported, evidence}], ``supported`` n, ``total`` n (None: no list), ``reasoning``,
      ``trace_cut`` bool (then raise both max_trace_chars and the gateway's trace_max_chars), ``warnings``
    - check: ``type``, ``expect``, ``command`` or ``url``, ``exit_code``/``status_code``, ``stdout``, ``stderr``,
      ``body``

    ``error`` may also explain a done or skipped signal without a score (no claims, tools not reported).
    """

    state: str
    score: float | None = None
    passed: bool | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    prompt: str = ""
    raw_output: str = ""
    agent: str = ""
    model: str = ""
    provider: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
