"""One step as the run page shows it: the Trust panel's parts, put together from rows already read."""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from calibration.storable import storable_name
from runs.engine import turns
from runs.models import Approval, Run, RunEvent, Signal, Step
from runs.models.signal import SignalKind, SignalState
from runs.models.step import UNFINISHED, StepStatus
from runs.trust.narrative import narrative, percents, verdict
from runs.trust.waterfall import Waterfall, waterfall
from runs.views import step_config
from runs.views.branch_reads import Table
from runs.views.judged import Judged
from runs.views.questions import Question
from runs.views.run_reads import JSON_INLINE, SUMMARY_HEAD, TEXT_HEAD
from runs.views.step_signals import awaited, claims_in, detail_of, of_current_pass, one
from runs.views.wording import STEP_MEANING, STEP_WAITS_FOR

# Fields of the contract that the panel shows in places of their own.
_CONTRACT = {"confidence", "summary", "next_step_context", "proceed", "proceed_reason", "uncertainties"}
_MANY = 200


@dataclass(frozen=True)
class Text:
    """A long text: its beginning, its true size, and where all of it can be read."""

    title: str
    head: str
    chars: int
    url: str

    @property
    def cut(self) -> bool:
        return self.chars > len(self.head)


@dataclass(frozen=True)
class Talk:
    """What one agent was asked and answered."""

    key: str
    title: str
    who: str
    asked: Text
    answered: Text
    state: str = ""


@dataclass(frozen=True)
class Chip:
    label: str
    value: str
    url: str


@dataclass(frozen=True)
class Panel:
    step: Step
    report: Mapping[str, Any] | None
    meaning: str
    big: str
    verdict: str
    sentences: Sequence[str]
    picture: Waterfall | None
    enforced: bool
    claims: Sequence[Mapping[str, Any]]
    claims_left: int
    claims_backed: int
    grounding: Signal | None
    verifier: Signal | None
    checks: Sequence[Signal]
    missing: Sequence[Signal]
    awaited: Sequence[str]
    wide_gap: bool
    trace_cut: bool
    reset: str
    talks: Sequence[Talk]
    chips: Sequence[Chip]
    config: Sequence[tuple[str, str]]
    definition: str
    answer: Sequence[tuple[str, Any]]
    summary_cut: bool
    uncertainties: Sequence[str]
    retries: Sequence[RunEvent]
    earlier: Sequence[Mapping[str, Any]] = field(default_factory=list)
    earlier_count: int = 0
    trace_url: str = ""
    trace_events: int | None = None
    judged: Judged | None = None
    question: Question | None = None
    approvals: Sequence[Approval] = ()
    children: Sequence[Run] = ()
    again_url: str = ""  # where its run is run again from it
    table: Table | None = None

    @property
    def checks_passed(self) -> int:
        return sum(check.passed is True for check in self.checks)

    @property
    def judges(self) -> bool:
        """Whether somebody else was asked about the answer."""
        return bool(self.verifier or self.grounding)

    @property
    def in_doubt(self) -> bool:
        """Whether the explanation is open when the page opens."""
        return self.step.status in {"escalated", "aborted"}

    @property
    def unfinished(self) -> bool:
        return self.step.status in UNFINISHED


def panels(
    steps: Sequence[Step],
    signals: Sequence[Signal],
    retries: Sequence[RunEvent],
    definitions: Mapping[str, Mapping[str, Any]],
    *,
    judged: Mapping[uuid.UUID, Judged],
    questions: Mapping[uuid.UUID, Question],
    approvals: Mapping[uuid.UUID, Sequence[Approval]],
    children: Mapping[uuid.UUID, Sequence[Run]],
    tables: Mapping[uuid.UUID, Table],
) -> list[Panel]:
    """Panels in the order of ``steps``; ``definitions`` are those of the version the run executes, by name."""
    by_step: dict[uuid.UUID, list[Signal]] = defaultdict(list)
    for signal in signals:
        by_step[signal.step_id].append(signal)
    tries: dict[str, list[RunEvent]] = defaultdict(list)
    for event in retries:
        tries[event.step_name].append(event)
    made = [_panel(step, by_step[step.id], tries[step.name], definitions.get(step.name, {})) for step in steps]
    return [
        replace(
            panel,
            judged=judged.get(panel.step.id),
            question=questions.get(panel.step.id),
            approvals=approvals.get(panel.step.id, ()),
            children=children.get(panel.step.id, ()),
            table=tables.get(panel.step.id),
        )
        for panel in made
    ]


def _panel(step: Any, signals: list[Signal], retries: list[RunEvent], definition: Mapping[str, Any]) -> Panel:
    report = step.trust_report or None
    passes = step.earlier or []
    current = of_current_pass(signals, passes, step.iteration_count or 0)
    verifier = one(current, SignalKind.VERIFIER)
    grounding = one(current, SignalKind.GROUNDING)
    checks = [signal for signal in current if signal.kind == SignalKind.CHECK]
    claims = claims_in(grounding)
    backed = sum(1 for claim in claims if claim.get("supported"))
    calibration = _stage(report, "calibration")
    return Panel(
        step=step,
        report=report,
        meaning=meaning(step),
        big=_number(report),
        verdict=_verdict(report),
        sentences=narrative(report) if report else [],
        picture=waterfall(report) if report else None,
        enforced=any(stage.get("enforced") for stage in (report or {}).get("stages", ())),
        claims=claims[:_MANY],
        claims_left=max(0, len(claims) - _MANY),
        claims_backed=backed,
        grounding=grounding,
        verifier=verifier,
        checks=checks,
        missing=[
            signal for signal in current if signal.kind != SignalKind.CHECK and signal.state == SignalState.FAILED
        ],
        awaited=awaited(definition, current),
        wide_gap=bool((report or {}).get("wide_gap")),
        trace_cut=bool(backed < len(claims) and grounding and (detail_of(grounding).get("trace_cut"))),
        reset=_sentence((calibration.get("inputs") or {}).get("reset")),
        talks=_talks(step, current),
        chips=_chips(step),
        config=step_config.rows(definition),
        definition=step_config.written(definition),
        answer=_answer(step.answer),
        summary_cut=len(step.answer_summary or "") >= SUMMARY_HEAD,
        uncertainties=_uncertainties(step.answer),
        retries=retries,
        earlier=[{**one, "number": number} for number, one in enumerate(passes, 1)] if len(passes) > 1 else [],
        earlier_count=step.iteration_count or 0,
        trace_url=reverse("ui-step-trace", args=[step.id]) if step.agent_trace_events else "",
        trace_events=step.agent_trace_events,
    )


def meaning(step: Step) -> str:
    """What its status means, for a reader who does not know the words."""
    if step.status == StepStatus.PENDING and step.turn_asked_at:
        return f"It waits for {turns.told(step.agent)}. Whoever waits longest goes first."
    if step.status == StepStatus.PENDING and step.awaited:
        return STEP_WAITS_FOR.get(step.executor, STEP_MEANING[step.status])
    return STEP_MEANING.get(step.status, "")


def _stage(report: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    return next((stage for stage in (report or {}).get("stages", ()) if stage.get("stage") == name), {})


def _number(report: Mapping[str, Any] | None) -> str:
    """The trust as the verdict writes it: where it matters, with the decimal that tells it from the threshold."""
    if not report or report.get("combined_trust") is None or report.get("kind") == "join":
        return ""  # a group has no picture that a number would stand beside
    return str(percents(report)(report["combined_trust"]))


def _verdict(report: Mapping[str, Any] | None) -> str:
    """The verdict without the number it begins with, which stands beside it in large."""
    return verdict(report).removeprefix(f"{_number(report)} ") if report else ""


def _sentence(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _talks(step: Any, signals: Sequence[Any]) -> list[Talk]:
    talks = []
    if step.prompt_chars or step.raw_output_chars:
        talks.append(
            Talk(
                key=f"{step.id}-primary",
                title="The agent",
                who=_who(step.agent or step.executor, step.model, step.provider),
                asked=_text("Asked", step, "prompt", "ui-step-text"),
                answered=_text("Answered", step, "raw_output", "ui-step-text"),
            )
        )
    for signal in signals:
        if signal.kind == SignalKind.CHECK or not (signal.prompt_chars or signal.raw_output_chars):
            continue
        talks.append(
            Talk(
                key=str(signal.id),
                title=_judge_title(signal),
                who=_who(signal.agent, signal.model, signal.provider),
                asked=_text("Asked", signal, "prompt", "ui-signal-text"),
                answered=_text("Answered", signal, "raw_output", "ui-signal-text"),
                state=signal.state,
            )
        )
    return talks


def _judge_title(signal: Any) -> str:
    if signal.kind == SignalKind.GROUNDING:
        return "The grounding judge"
    mode = detail_of(signal).get("mode", "")
    return f"The verifier ({mode})" if mode else "The verifier"


def _who(agent: str, model: str, provider: str) -> str:
    return ", ".join(part for part in (agent, model, provider) if part)


def _text(title: str, row: Any, name: str, view: str) -> Text:
    head = getattr(row, f"{name}_head") or ""
    chars = getattr(row, f"{name}_chars") or 0
    return Text(title=title, head=head[:TEXT_HEAD], chars=chars, url=reverse(view, args=[row.id, name]))


def _chips(step: Step) -> list[Chip]:
    chips = []
    if step.effective_confidence is not None:
        chips.append(Chip("track record", "", reverse("ui-insights-step", args=[step.name])))
    if step.prompt_hash:
        history = reverse("ui-prompt-versions", args=[step.name])
        chips.append(Chip("template", step.prompt_hash, f"{history}?{urlencode({'version': step.prompt_hash})}"))
    if step.agent and step.agent_version:
        history = reverse("ui-agent-versions", args=[step.agent])
        query = urlencode({"version": storable_name(step.agent_version)})
        chips.append(Chip("agent", step.agent_version[:12], f"{history}?{query}"))
    return chips


def _answer(answer: Any) -> list[tuple[str, Any]]:
    """The fields of the answer beyond the contract's own, short ones as text, nested ones as JSON."""
    if not isinstance(answer, dict):
        return []
    shown = [
        (name, value) for name, value in answer.items() if name not in _CONTRACT and value not in ({}, [], "", None)
    ]
    return [(str(name), step_config.value_text(value)[:JSON_INLINE]) for name, value in shown[:_MANY]]


def _uncertainties(answer: Any) -> list[str]:
    given = answer.get("uncertainties") if isinstance(answer, dict) else None
    return [step_config.value_text(item) for item in given[:_MANY]] if isinstance(given, list) else []
