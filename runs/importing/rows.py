"""Rows of the database for a run that happened elsewhere, with ids that are the same whenever it is imported."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from runs.ids import derived_id
from runs.importing import records
from runs.importing.prompts import hash_of
from runs.importing.reports import report_of, state_of
from runs.models import PipelineVersion, Run, RunEvent, Signal, SignalKind, Step
from runs.pricing import nanos_of
from runs.spending import NOTHING, Spent, of_priced, remember
from runs.storable import storable, storable_name, storable_reason, storable_text

ORIGIN = "imported"
ESCALATED_THERE = "It waited for a person where it came from; here nobody is asked about it."


@dataclass
class Rows:
    """One run as unsaved rows. ``unexplained`` counts the steps whose trust could not be computed anew."""

    run: Run
    version: PipelineVersion
    steps: list[tuple[records.Step, Step]] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)
    events: list[RunEvent] = field(default_factory=list)
    unexplained: int = 0
    is_replay: bool = False
    spent: Spent = NOTHING


def run_id(told: records.Run) -> UUID:
    return derived_id(told.triggered_at, ORIGIN, told.id)


def step_id(told: records.Run, step: records.Step) -> UUID:
    return derived_id(told.triggered_at, ORIGIN, told.id, step.name)


def rows_of(told: records.Run, *, now: datetime) -> Rows:
    version = _version(told, now)
    rows = Rows(_run(told, version), version, is_replay=told.is_replay)
    for index, step in enumerate(told.steps):
        row = _step(told, rows.run, step, index)
        rows.unexplained += step.threshold is not None and row.trust_report is None
        rows.steps.append((step, row))
        rows.signals.extend(_signals(step, row))
    _add_up(rows)
    rows.events = [_event(rows.run, line) for line in told.log]
    return rows


def _add_up(rows: Rows) -> None:
    """What the run spent, from its steps: none is priced here, since nobody knows what a call cost in its day."""
    judges: dict[UUID, list[Signal]] = defaultdict(list)
    for signal in rows.signals:
        judges[signal.step_id].append(signal)
    for _, row in rows.steps:
        rows.spent += of_priced(row, judges[row.id])
    remember(rows.run, rows.spent)


def _version(told: records.Run, now: datetime) -> PipelineVersion:
    """It stands for a file that is not here, and so tells no steps."""
    name = storable_text(told.pipeline)
    digest = hashlib.sha256("\x1f".join((ORIGIN, name, told.version)).encode("utf-8", "surrogatepass")).hexdigest()
    config = {"name": name, "stage": told.stage, "steps": []}
    return PipelineVersion(digest=digest, name=name, config=config, created_at=now)


def _run(told: records.Run, version: PipelineVersion) -> Run:
    return Run(
        id=run_id(told),
        version=version,
        pipeline_name=version.name,
        stage=told.stage,
        team=storable_text(told.team),
        source=storable_text(told.source),
        started_by=f"import of {storable_text(told.id)}",
        context=storable(told.context),
        payload=storable(told.payload),
        summary=storable_text(told.summary),
        status=told.status,
        reason=storable_reason(told.reason or (ESCALATED_THERE if told.status == "escalated" else "")),
        triggered_at=told.triggered_at,
        started_at=told.began_at,
        completed_at=told.completed_at,
    )


def _step(told: records.Run, run: Run, step: records.Step, index: int) -> Step:
    ended = told.finished_at(step)
    began = step.started_at or ended - timedelta(milliseconds=step.duration_ms or 0)
    report = report_of(step)
    signals = report["signals"] if report else {}
    after_v = signals.get("S_after_V", step.confidence_after_verifier)
    return Step(
        id=step_id(told, step),
        run=run,
        name=storable_text(step.name),
        index=index,
        status=step.status,
        error=storable_reason(step.error),
        executor=storable_text(step.executor),
        agent=storable_text(step.agent),
        model=storable_name(step.model),
        provider=storable_name(step.provider),
        prompt_hash=storable_name(hash_of(step)),
        agent_version=storable_name(step.agent_version),
        prompt=storable_text(step.prompt),
        raw_output=storable_text(step.answer),
        parsed_output=storable(step.output),
        agent_trace=storable(step.trace),
        primary_confidence=step.confidence,
        verifier_confidence=step.verifier.score if step.verifier else None,
        effective_confidence=step.confidence if after_v is None else after_v,
        grounding_score=step.grounding.score if step.grounding else None,
        deterministic_passed=not step.check_failed if step.checks else None,
        combined_trust=report["combined_trust"] if report else step.trust,
        confidence_threshold=step.threshold,
        trust_report=report,
        input_tokens=step.input_tokens,
        output_tokens=step.output_tokens,
        cost_nanos=None if step.cost_usd is None else nanos_of(step.cost_usd),
        duration_ms=step.duration_ms,
        created_at=began,
        started_at=began,
        completed_at=ended,
        tries=1,
    )


def _event(run: Run, line: records.LogLine) -> RunEvent:
    return RunEvent(
        run=run,
        step_name=storable_text(line.step),
        at=line.at,
        level=line.level,
        kind=storable_text(line.kind),
        message=storable_reason(line.message),
    )


def _signals(told: records.Step, step: Step) -> Iterator[Signal]:
    if told.verifier:
        mode: dict[str, Any] = {"mode": told.verifier.mode, "warnings": []}
        yield _judged(SignalKind.VERIFIER, told.verifier, told.verifier.score, step, mode)
    if told.grounding:
        yield _judged(SignalKind.GROUNDING, told.grounding, told.grounding.score, step, _claims(told.grounding))
    for position, check in enumerate(told.checks):
        yield Signal(
            id=_signal_id(step, SignalKind.CHECK, position),
            step=step,
            kind=SignalKind.CHECK,
            position=position,
            name=storable_text(check.name),
            state="done",
            passed=check.passed,
            error="" if check.passed else storable_reason(check.detail),
            detail={"stdout": storable_text(check.detail)},
            duration_ms=check.duration_ms,
            completed_at=step.completed_at,
        )


def _claims(grounding: records.Grounding) -> dict[str, Any]:
    claims = [storable(claim.model_dump()) for claim in grounding.claims]
    backed = sum(claim["supported"] for claim in claims)
    counts = {"supported": backed, "total": len(claims)} if claims else {"supported": None, "total": None}
    return {"claims": claims, **counts, "trace_cut": False, "warnings": []}


def _judged(kind: SignalKind, judge: records.Judge, score: float | None, step: Step, detail: dict[str, Any]) -> Signal:
    return Signal(
        id=_signal_id(step, kind, 0),
        step=step,
        kind=kind,
        name=kind.value,
        state=state_of(score, judge.error),
        score=score,
        detail=detail,
        error=storable_reason(judge.error),
        prompt=storable_text(judge.prompt),
        raw_output=storable_text(judge.answer),
        agent=storable_text(judge.agent),
        model=storable_name(judge.model),
        provider=storable_name(judge.provider),
        input_tokens=judge.input_tokens,
        output_tokens=judge.output_tokens,
        completed_at=step.completed_at,
    )


def _signal_id(step: Step, kind: SignalKind, position: int) -> UUID:
    assert step.completed_at is not None  # every step of a file has an end
    return derived_id(step.completed_at, ORIGIN, str(step.id), kind.value, str(position))
