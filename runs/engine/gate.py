"""The gate: a step's signals and its track record, combined into a trust report and a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from calibration import buckets, resets, turns
from calibration.binning import MILLION
from calibration.buckets import BinEvidence, BucketKey
from runs.engine.plan import Prepared
from runs.models import Signal, SignalKind, SignalState, Step, StepStatus
from runs.pipelines import definitions, schema
from runs.trust import narrative, vector


@dataclass(frozen=True)
class Verdict:
    """What the gate decided, and the confidence (S after V) the step's sample is recorded with."""

    status: StepStatus
    reason: str
    bucket_id: int | None


def decide(prepared: Prepared, signals: Sequence[Signal], *, now: datetime) -> Verdict:
    """Fill the row's trust fields and say what becomes of the step."""
    row, definition = prepared.row, prepared.definition
    verifier = verifier_input(definition, signals)
    row.effective_confidence = vector.s_after_v(row.primary_confidence, verifier)
    bucket_id, calibration = _calibration(prepared, now)
    report = vector.evaluate(
        self_report=row.primary_confidence,
        verifier=verifier,
        calibration=calibration,
        grounding=_grounding(definition, signals),
        checks=[_check(signal) for signal in _checks_in_order(signals)],
        confidence_threshold=definitions.own_threshold(definition),
        on_low_confidence=definition.on_low_confidence,
        bias=_bias(row, definition.threshold_bias or schema.ThresholdBias()),
    ).to_json()
    row.trust_report = report
    row.combined_trust = report["combined_trust"]
    row.verifier_confidence = report["signals"]["V"]
    row.grounding_score = report["signals"]["G"]
    row.deterministic_passed = report["signals"]["D"]
    return Verdict(_status(prepared, report["action"]), narrative.verdict(report), bucket_id)


def _checks_in_order(signals: Sequence[Signal]) -> list[Signal]:
    """In the order of the pipeline, not of their ends: the same inputs give the same report, byte for byte."""
    return sorted((one for one in signals if one.kind == SignalKind.CHECK), key=lambda one: one.position)


def _status(prepared: Prepared, action: str) -> StepStatus:
    # The gate comes before the agent's own wish to stop.
    if action == "escalate":
        return StepStatus.ESCALATED
    if action == "abort":
        return StepStatus.ABORTED
    if (prepared.row.parsed_output or {}).get("proceed", True) is False:
        return StepStatus.STOPPED
    return StepStatus.COMPLETED


def verifier_input(definition: schema.StepBody, signals: Sequence[Signal]) -> vector.VerifierInput | None:
    """V as the formula takes it; None when the step has no verifier."""
    config = definition.verifier
    if config is None:
        return None
    signal = _only(signals, SignalKind.VERIFIER)
    return vector.VerifierInput(
        score=signal.score,
        combination_strategy=config.combination_strategy,
        veto_floor=config.veto_floor,
        mode=config.mode,
        on_error=config.on_error,
        state=signal.state,
        error=signal.error,
    )


def _grounding(definition: schema.StepBody, signals: Sequence[Signal]) -> vector.GroundingInput | None:
    config = definition.grounding
    if config is None:
        return None
    signal = _only(signals, SignalKind.GROUNDING)
    return vector.GroundingInput(
        enforce=config.enforce,
        score=signal.score,
        on_error=config.on_error,
        supported=signal.detail.get("supported"),
        total=signal.detail.get("total"),
        state=signal.state,
        error=signal.error,
    )


def _only(signals: Sequence[Signal], kind: SignalKind) -> Signal:
    """The signal of a kind that a pass has one of."""
    return next(signal for signal in signals if signal.kind == kind)


def _check(signal: Signal) -> vector.CheckInput:
    passed = signal.state == SignalState.DONE and signal.passed is True
    return vector.CheckInput(name=signal.name, passed=passed, detail=signal.error)


def _calibration(prepared: Prepared, now: datetime) -> tuple[int | None, vector.CalibrationInput | None]:
    """The bucket of the step's sample, and what that bucket's history says where the step asks for it."""
    row, wanted = prepared.row, prepared.definition.calibration
    service = settings.SERVICE.calibration
    if row.effective_confidence is None:
        return None, _no_record(wanted, service.n_min)
    tracked = definitions.tracked_name(row.name, prepared.definition)
    key = BucketKey(tracked, row.agent, row.model, row.provider, row.prompt_hash, row.agent_version)
    bucket_id = buckets.bucket_id(key)
    if wanted is None:
        return bucket_id, None
    evidence = buckets.lookup(
        bucket_id,
        row.effective_confidence,
        n_min=service.n_min,
        bin_width=service.bin_width,
        evidence=service.evidence,
    )
    return bucket_id, vector.CalibrationInput(
        enforce=wanted.enforce,
        on_uncalibrated=wanted.on_uncalibrated,
        n=evidence.n,
        n_min=evidence.n_min,
        accuracy=evidence.accuracy,
        lo=evidence.lo,
        hi=evidence.hi,
        reset=_reset(key, evidence, now),
    )


def _bias(row: Step, wanted: schema.ThresholdBias) -> vector.BiasInput | None:
    """What people kept of this agent's last answers; without a number of its own there is nothing to compare."""
    if row.primary_confidence is None:
        return None
    record = turns.record(row.agent, wanted.window)
    return vector.BiasInput(
        enforce=wanted.enforce,
        n=record.n,
        kept=record.kept,
        claimed=None if record.claimed_ppm is None else record.claimed_ppm / MILLION,
        least=wanted.min,
        band=wanted.band,
        allow_lower=wanted.allow_lower,
    )


def _no_record(wanted: schema.Calibration | None, n_min: int) -> vector.CalibrationInput | None:
    """Without a confidence there is nothing to look up; a step that insists on a record must not clear for that."""
    if wanted is None:
        return None
    return vector.CalibrationInput(
        enforce=wanted.enforce, on_uncalibrated=wanted.on_uncalibrated, n=0, n_min=n_min, accuracy=None
    )


def _reset(key: BucketKey, evidence: BinEvidence, now: datetime) -> str | None:
    reset = resets.explain_reset(
        key, n=evidence.n, n_min=evidence.n_min, now=now, evidence=settings.SERVICE.calibration.evidence
    )
    return reset.sentence() if reset else None
