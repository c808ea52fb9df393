"""V: a second opinion, either a critic that reads the answer or an independent agent that redoes the task blind."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from runs.answer import Answer
from runs.executors.base import Stop
from runs.pipelines import schema
from runs.signals import judge
from runs.signals.base import Outcome, Subject
from runs.signals.guard import never_raises
from runs.signals.trace import clip_trace, show_trace

ROLE = "verifier"
_CONTRACT_FIELDS = frozenset(field.name for field in fields(Answer))
_HIDDEN_FROM_INDEPENDENT = frozenset({"loop", "output", "answer"})


def triggered(config: schema.Verifier, primary_confidence: float | None) -> bool:
    """Whether the verifier fires: always without a trigger block, else when above < S < below.

    An answer without S (a step with threshold 0) lies in no band and is looked at: the cautious side.
    """
    band = config.trigger
    if band is None or band.always or primary_confidence is None:
        return True
    return band.confidence_above < primary_confidence < band.confidence_below


@never_raises(Outcome(state="failed"))
def gather(subject: Subject, config: schema.Verifier, stop: Stop) -> Outcome:
    """Ask the verifier for V. No verdict, for whatever reason, is a failed outcome that keeps the raw reply."""
    mode = config.mode
    if not triggered(config, subject.primary_confidence):
        return Outcome(state="skipped", detail={"mode": mode}, error="outside the trigger band")
    if not judge.has_substance(subject.answer):
        return Outcome(state="failed", detail={"mode": mode}, error=judge.NOTHING_TO_JUDGE)
    if mode == "independent":
        return _independent(subject, config, stop)
    return _critic(subject, config, stop)


def _critic(subject: Subject, config: schema.Verifier, stop: Stop) -> Outcome:
    shown = show_trace(subject.trace, config.max_trace_chars)
    prompt = judge.compose("critic", task=subject.prompt, answer=judge.answer_text(subject.answer), trace=shown.text)
    asked = judge.ask(_question(subject, config, prompt, subject.context, subject.call_context), stop)
    detail: dict[str, Any] = {"mode": "critic", "warnings": list(asked.warnings), "trace_cut": shown.cut}
    if asked.verdict is None:
        return replace(asked.outcome, detail=detail)
    detail["reasoning"] = asked.verdict.summary
    detail["problems"] = _texts(asked.verdict.reasoning.get("problems"))
    return replace(asked.outcome, score=asked.verdict.confidence, detail=detail)


def _independent(subject: Subject, config: schema.Verifier, stop: Stop) -> Outcome:
    prompt = subject.prompt if subject.blind_prompt is None else subject.blind_prompt
    asked = judge.ask(_question(subject, config, prompt, _blind(subject.context), _blind(subject.call_context)), stop)
    detail: dict[str, Any] = {"mode": "independent", "warnings": list(asked.warnings)}
    if asked.trace:
        detail["trace"] = clip_trace(asked.trace, config.max_trace_chars)
    if asked.verdict is None:
        return replace(asked.outcome, detail=detail)
    detail["reasoning"] = asked.verdict.summary
    detail["differs"] = differences(subject.answer, asked.verdict.data)
    return replace(asked.outcome, score=asked.verdict.confidence, detail=detail)


def differences(primary: Mapping[str, Any], verifier: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The plain fields, beyond the contract's own, that both answers hold with different values.

    Shown to people only: V is the second agent's confidence in its own answer, and a label that two
    agents word differently is no measured disagreement.
    """
    return [
        {"field": key, "primary": value, "verifier": verifier[key]}
        for key, value in primary.items()
        if key not in _CONTRACT_FIELDS and key in verifier and _plain(value) and _plain(verifier[key])
        if value != verifier[key]
    ]


def _question(
    subject: Subject,
    config: schema.Verifier,
    prompt: str,
    context: Mapping[str, Any],
    call_context: Mapping[str, Any],
) -> judge.Question:
    return judge.Question(
        executor=config.executor,
        config=config.executor_config,
        prompt=prompt,
        timeout=None,
        role=ROLE,
        context=context,
        call_context=call_context,
        idempotency_key=subject.idempotency_key,
    )


def _blind(context: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in context.items() if key not in _HIDDEN_FROM_INDEPENDENT}


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
