"""Asking a judge: composing its prompt around untrusted text, calling it, reading its verdict."""

import functools
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Any

from runs import executors
from runs.answer import Answer, ContractError, parse
from runs.executors.base import Call, Executor, ExecutorError, Stop, TraceEvent
from runs.pipelines.templating import TemplateError, render_config
from runs.signals.base import Outcome
from runs.storable import storable_text

NOTHING_TO_JUDGE = "nothing to judge: the answer holds no words and no numbers"
_PROMPTS = Path(__file__).parent / "prompts"
_BOOKKEEPING = frozenset({"confidence", "proceed"})


@dataclass(frozen=True)
class Question:
    """One call of a judge. ``context`` is what the templates of ``config`` may see."""

    executor: str
    config: Mapping[str, Any]
    prompt: str
    timeout: float | None  # seconds; the judge's own timeout_seconds may shorten it, and stands in for None
    role: str  # "verifier" or "grounding"
    context: Mapping[str, Any]
    call_context: Mapping[str, Any]
    idempotency_key: str


@dataclass(frozen=True)
class Asked:
    """``outcome`` holds all that is known of the call; without a verdict it is failed and says why."""

    outcome: Outcome
    verdict: Answer | None = None
    trace: list[TraceEvent] | None = None
    warnings: tuple[str, ...] = ()


@functools.cache
def _template(name: str) -> Template:
    return Template((_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip())


def compose(name: str, **sections: str) -> str:
    """The prompt file ``name`` around ``sections``, each between lines that carry a code drawn for this call.

    The code is drawn after the untrusted text was written and is not in it, so no text can close its own section.
    """
    marker = secrets.token_hex(8)
    while any(marker in text for text in sections.values()):
        marker = secrets.token_hex(8)
    body = "\n\n".join(
        f"<<<{heading} {marker}>>>\n{storable_text(text)}\n<<<END {heading} {marker}>>>"
        for heading, text in ((key.upper(), value) for key, value in sections.items())
    )
    return _template(name).substitute(marker=marker, sections=body)


def answer_text(answer: Mapping[str, Any]) -> str:
    """The parsed answer as a judge sees it: all of it, as JSON."""
    return json.dumps(answer, ensure_ascii=False, indent=1, default=str)


def has_substance(answer: Mapping[str, Any]) -> bool:
    """Whether there is a letter, a digit or a yes/no anywhere but in ``confidence`` and ``proceed``."""
    return any(_says_something(value) for key, value in answer.items() if key not in _BOOKKEEPING)


def _says_something(value: Any) -> bool:
    if isinstance(value, str):
        return any(map(str.isalnum, value))
    if isinstance(value, Mapping):
        return any(map(_says_something, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_says_something, value))
    return value is not None


def ask(question: Question, stop: Stop) -> Asked:
    """Call the judge and read its last valid verdict. Every failure is in the outcome."""
    outcome = Outcome(state="failed", prompt=question.prompt)
    try:
        config, warnings = render_config(dict(question.config), question.context)
        executor = executors.get(question.executor)
        outcome = replace(outcome, agent=f"{question.executor}:{executor.agent_name(config)}")
        reply = executor.call(_call(question, config, executor), stop, _ignore)
    except ExecutorError as error:
        return Asked(replace(outcome, error=str(error), raw_output=storable_text(error.raw)))
    except TemplateError as error:
        return Asked(replace(outcome, error=f"executor_config: {error}"))
    outcome = replace(
        outcome,
        raw_output=storable_text(reply.text),
        model=reply.model,
        provider=reply.provider,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
    )
    try:
        verdict = parse(reply.text)
    except ContractError as error:
        return Asked(replace(outcome, error=f"the {question.role}'s reply is no verdict: {error}"))
    return Asked(replace(outcome, state="done"), verdict, reply.trace, tuple(warnings))


def _call(question: Question, config: Mapping[str, Any], executor: Executor) -> Call:
    own = config.get("timeout_seconds")
    limits = [limit for limit in (question.timeout, own) if isinstance(limit, int | float)]
    return Call(
        prompt=question.prompt,
        config=config,
        timeout=min(limits, default=executor.default_timeout),
        idempotency_key=f"{question.idempotency_key}:{question.role}",
        context={**question.call_context, "role": question.role},
    )


def _ignore(_event: TraceEvent) -> None:
    """A judge's own trace is read from its reply, not streamed."""
