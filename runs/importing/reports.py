"""The trust report of a step that was decided elsewhere: the same inputs through the formula of today."""

from typing import Any

from runs.importing import records
from runs.trust.vector import CalibrationInput, CheckInput, GroundingInput, VerifierInput, evaluate

SAME = 1e-6  # two numbers that differ by less were rounded differently


def report_of(step: records.Step) -> dict[str, Any] | None:
    """The report, or None where the inputs are incomplete, or do not give the numbers that were recorded.

    A report that tells another number than the one which decided would be worse than none.
    """
    if step.threshold is None:
        return None
    try:
        report = evaluate(
            self_report=step.confidence,
            verifier=_verifier(step.verifier),
            calibration=_calibration(step.calibration),
            grounding=_grounding(step.grounding),
            checks=[CheckInput(name=check.name, passed=check.passed) for check in step.checks],
            confidence_threshold=step.threshold,
            on_low_confidence=step.on_low_confidence,
        ).to_json()
    except ValueError:  # inputs that contradict each other
        return None
    agrees = _same(step.trust, report["combined_trust"]) and _same(
        step.confidence_after_verifier, report["signals"]["S_after_V"]
    )
    return report if agrees else None


def _same(recorded: float | None, computed: float | None) -> bool:
    """Whether the formula gives what was recorded; what was not recorded cannot differ."""
    if recorded is None:
        return True
    return computed is not None and abs(recorded - computed) < SAME


def _verifier(verifier: records.Verifier | None) -> VerifierInput | None:
    if verifier is None:
        return None
    return VerifierInput(
        score=verifier.score,
        combination_strategy=verifier.combination_strategy,
        veto_floor=verifier.veto_floor,
        mode=verifier.mode,
        state=state_of(verifier.score, verifier.error),
        error=verifier.error,
    )


def _grounding(grounding: records.Grounding | None) -> GroundingInput | None:
    if grounding is None:
        return None
    listed = len(grounding.claims) or None
    return GroundingInput(
        enforce=grounding.enforce,
        score=grounding.score,
        supported=sum(claim.supported for claim in grounding.claims) if listed else None,
        total=listed,
        state=state_of(grounding.score, grounding.error),
        error=grounding.error,
    )


def _calibration(calibration: records.Calibration | None) -> CalibrationInput | None:
    return None if calibration is None else CalibrationInput(**calibration.model_dump())


def state_of(score: float | None, error: str) -> str:
    """Of a judge: done, failed (there is an error and no score), or not triggered."""
    if score is not None:
        return "done"
    return "failed" if error else "skipped"
