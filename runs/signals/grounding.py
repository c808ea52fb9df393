"""G: the share of an answer's load-bearing claims that its own tool results support."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runs.answer import Answer
from runs.executors.base import Stop
from runs.pipelines import schema
from runs.signals import judge
from runs.signals.base import Outcome, Subject
from runs.signals.guard import never_raises
from runs.signals.trace import show_trace

ROLE = "grounding"
NO_TOOLS = "the step's executor cannot report tool calls, so there is no evidence to check the answer against"
NO_CLAIMS = "the judge found no load-bearing claim, so there is nothing to support"
ROUNDING = 0.01  # a judge may round its own division
_LONGEST_TEXT = 2_000  # characters kept of one claim and of its evidence
_MOST_CLAIMS = 200  # claims kept for the page; all of them count


@dataclass(frozen=True)
class Counted:
    """What a list of claims comes to. ``claims`` is what is kept of it; ``supported`` and ``total`` count all."""

    claims: list[dict[str, Any]]
    supported: int
    total: int
    warnings: list[str]

    @property
    def score(self) -> float | None:
        return self.supported / self.total if self.total else None


@never_raises(Outcome(state="failed"))
def gather(subject: Subject, config: schema.Grounding, stop: Stop) -> Outcome:
    """Ask the grounding judge for G. No verdict, for whatever reason, is a failed outcome with the raw reply.

    Without a trace (None) there is nothing to ask: skipped. With an empty one the judge is asked, so that
    an answer invented without looking finds no support.
    """
    if subject.trace is None:
        return Outcome(state="skipped", error=NO_TOOLS)
    if not judge.has_substance(subject.answer):
        return Outcome(state="failed", error=judge.NOTHING_TO_JUDGE)
    shown = show_trace(subject.trace, config.max_trace_chars)
    prompt = judge.compose("grounding", task=subject.prompt, answer=judge.answer_text(subject.answer), trace=shown.text)
    asked = judge.ask(_question(subject, config, prompt), stop)
    detail = {"trace_cut": shown.cut, "warnings": list(asked.warnings)}
    if asked.verdict is None:
        return replace(asked.outcome, detail=detail)
    return _scored(asked.outcome, asked.verdict, detail)


def _question(subject: Subject, config: schema.Grounding, prompt: str) -> judge.Question:
    return judge.Question(
        executor=config.executor,
        config={"agent": config.agent, **config.executor_config},
        prompt=prompt,
        timeout=config.timeout_seconds,
        role=ROLE,
        context=subject.context,
        call_context=subject.call_context,
        idempotency_key=subject.idempotency_key,
    )


def _scored(outcome: Outcome, verdict: Answer, detail: dict[str, Any]) -> Outcome:
    listed = verdict.reasoning.get("claims")
    detail |= {"reasoning": verdict.summary, "claims": [], "supported": None, "total": None}
    if not isinstance(listed, list):
        if listed is not None:
            detail["warnings"].append("reasoning.claims is not a list, so the judge's own figure stands")
        return replace(outcome, score=verdict.confidence, detail=detail)
    counted = count(listed)
    detail |= {"claims": counted.claims, "supported": counted.supported, "total": counted.total}
    detail["warnings"] += counted.warnings + _disagreement(counted, verdict.confidence)
    return replace(outcome, score=counted.score, detail=detail, error="" if counted.total else NO_CLAIMS)


def _disagreement(counted: Counted, stated: float | None) -> list[str]:
    if counted.score is None or stated is None or abs(counted.score - stated) <= ROUNDING:
        return []
    share = f"{counted.supported} of {counted.total}"
    return [f"the judge said {stated:g}, but {share} claims are supported ({counted.score:.2f}): the count is used"]


def count(listed: list[Any]) -> Counted:
    """Count a judge's list. Only a plain ``true`` supports; anything else does not, and unclear entries are named."""
    claims: list[dict[str, Any]] = []
    warnings: list[str] = []
    supported = 0
    for number, entry in enumerate(listed, start=1):
        fields = entry if isinstance(entry, Mapping) else {"claim": entry}
        verdict = fields.get("supported")
        if not isinstance(verdict, bool):
            warnings.append(f"claim {number} says neither true nor false and counts as not supported")
        supported += verdict is True
        if number <= _MOST_CLAIMS:
            claims.append(_kept(fields, verdict is True))
    if len(listed) > _MOST_CLAIMS:
        warnings.append(f"{len(listed)} claims were listed and counted; the first {_MOST_CLAIMS} are kept")
    return Counted(claims, supported, len(listed), warnings)


def _kept(fields: Mapping[str, Any], supported: bool) -> dict[str, Any]:
    claim, evidence = (_short(fields.get(key)) for key in ("claim", "evidence"))
    return {"claim": claim or "(not stated)", "supported": supported, "evidence": evidence}


def _short(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
