"""The trust vector: four signals and a measured track record, combined by their floor.

Pure: values in, a report out. The report holds every input, so ``recompute`` can repeat any past
decision. What each reason means stands in ``report.py``, what may be passed in ``inputs.py``.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from calibration.unit import optional_unit
from runs.trust.inputs import (
    ON_LOW_CONFIDENCE,
    BiasInput,
    CalibrationInput,
    CheckInput,
    GroundingInput,
    VerifierInput,
    one_of,
)
from runs.trust.report import APPLIED, VERSION, Reason, Report, Stage

__all__ = [
    "BiasInput", "CalibrationInput", "CheckInput", "GroundingInput", "Reason", "Report", "Stage", "VerifierInput",
    "evaluate", "recompute", "s_after_v",
]  # fmt: skip

WIDE_GAP = Decimal("0.2")
Step = tuple[float | None, Reason]  # the number after a stage, and why


def evaluate(
    *,
    self_report: float | None,
    verifier: VerifierInput | None = None,
    calibration: CalibrationInput | None = None,
    grounding: GroundingInput | None = None,
    checks: Sequence[CheckInput] = (),
    confidence_threshold: float | None,
    on_low_confidence: str,
    bias: BiasInput | None = None,
) -> Report:
    """Combine the signals and decide. Raises ValueError naming the field that breaks the contract.

    A threshold of None is a branch that leaves the decision to its group: it is not held back by its number.
    An enforced ``bias`` moves the threshold before trust is compared with it.
    """
    s = optional_unit("self_report", self_report)
    configured = optional_unit("confidence_threshold", confidence_threshold)
    threshold = bias.moved(configured) if bias and bias.enforce and configured is not None else configured
    one_of("on_low_confidence", on_low_confidence, ON_LOW_CONFIDENCE)

    after_v, why_v = _verify(s, verifier)
    after_c, why_c = _calibrate(after_v, calibration)
    after_g, why_g = _ground(after_c, grounding)
    trust, why_d = _check(after_g, checks)

    never_clears = why_d is Reason.CHECK_FAILED or why_c is Reason.UNCALIBRATED_ESCALATE
    cleared = not never_clears and (trust is None or threshold is None or trust >= threshold)
    person_wanted = _escalates(verifier) or _escalates(grounding)
    passes = cleared or threshold is None
    action = "escalate" if person_wanted else "none" if passes else on_low_confidence
    why_gate = _gate_reason(trust, cleared=cleared, person_wanted=person_wanted, why_c=why_c, why_d=why_d)
    if threshold is None and not person_wanted:
        why_gate = Reason.LEFT_TO_GROUP

    why_s = Reason.NO_SELF_REPORT if s is None else Reason.REPORTED
    gate: dict[str, Any] = {"confidence_threshold": configured, "on_low_confidence": on_low_confidence}
    if bias is not None:
        gate["bias"] = bias.told(configured)
    stages = [
        Stage("self_report", None, s, True, why_s, {"self_report": s}),
        Stage("verifier", s, after_v, verifier is not None, why_v, _inputs(verifier)),
        Stage("calibration", after_v, after_c, bool(calibration and calibration.enforce), why_c, _inputs(calibration)),
        Stage("grounding", after_c, after_g, bool(grounding and grounding.enforce), why_g, _inputs(grounding)),
        Stage("checks", after_g, trust, bool(checks), why_d, {"checks": [_inputs(check) for check in checks]}),
        Stage("gate", trust, trust, True, why_gate, gate),
    ]
    v = verifier.score if verifier else None
    g = grounding.score if grounding else None
    d = all(check.passed for check in checks) if checks else None
    weakest = next((stage.stage for stage in reversed(stages[:-1]) if stage.reason in APPLIED), None)
    return Report(
        signals={"S": s, "V": v, "S_after_V": after_v, "G": g, "D": d},
        stages=stages, combined_trust=trust, cleared=cleared, action=action,
        confidence_threshold=threshold, on_low_confidence=on_low_confidence,
        weakest=weakest, wide_gap=_wide_gap(s, g),
    )  # fmt: skip


def s_after_v(self_report: float | None, verifier: VerifierInput | None) -> float | None:
    """S as the verifier leaves it: never above S, and S itself while V is missing."""
    return _verify(optional_unit("self_report", self_report), verifier)[0]


def _verify(s: float | None, verifier: VerifierInput | None) -> Step:
    if (why_not := _no_score(verifier)) or verifier is None or verifier.score is None:
        return s, why_not or Reason.NOT_CONFIGURED
    if s is None:
        return s, Reason.NO_SELF_REPORT
    vetoes = verifier.combination_strategy == "veto"
    if vetoes and verifier.score >= verifier.veto_floor:
        return s, Reason.ABOVE_VETO_FLOOR
    if verifier.score >= s:
        return s, Reason.NOT_LOWER
    return verifier.score, Reason.VETOED if vetoes else Reason.LOWERED


def _calibrate(before: float | None, calibration: CalibrationInput | None) -> Step:
    if calibration is None:
        return before, Reason.NOT_CONFIGURED
    if not calibration.enforce:
        return before, Reason.ADVISORY
    if not calibration.validated or before is None:
        if calibration.on_uncalibrated == "escalate":
            return None if before is None else 0.0, Reason.UNCALIBRATED_ESCALATE
        return before, Reason.NO_SELF_REPORT if before is None else Reason.UNCALIBRATED
    return calibration.accuracy, Reason.MEASURED


def _ground(before: float | None, grounding: GroundingInput | None) -> Step:
    if (why_not := _no_score(grounding)) or grounding is None or grounding.score is None:
        return before, why_not or Reason.NOT_CONFIGURED
    if not grounding.enforce:
        return before, Reason.SHADOW
    if before is None:
        return before, Reason.NO_SELF_REPORT
    return (grounding.score, Reason.CAPPED) if grounding.score < before else (before, Reason.NOT_LOWER)


def _check(before: float | None, checks: Sequence[CheckInput]) -> Step:
    if not checks:
        return before, Reason.NOT_CONFIGURED
    return (before, Reason.PASSED) if all(check.passed for check in checks) else (0.0, Reason.CHECK_FAILED)


def _no_score(signal: VerifierInput | GroundingInput | None) -> Reason | None:
    if signal is None:
        return Reason.NOT_CONFIGURED
    if signal.score is not None:
        return None
    if signal.state == "failed":
        return Reason.MISSING
    # Only a verifier has a trigger; grounding is skipped where there is no trace it could look at.
    triggered = signal.state == "done" or isinstance(signal, GroundingInput)
    return Reason.NOTHING_TO_JUDGE if triggered else Reason.NOT_TRIGGERED


def _escalates(signal: VerifierInput | GroundingInput | None) -> bool:
    return signal is not None and signal.state == "failed" and signal.on_error == "escalate"


def _gate_reason(trust: float | None, *, cleared: bool, person_wanted: bool, why_c: Reason, why_d: Reason) -> Reason:
    if why_d is Reason.CHECK_FAILED:
        return why_d
    if why_c is Reason.UNCALIBRATED_ESCALATE:
        return why_c
    if not cleared:
        return Reason.BELOW_THRESHOLD
    if person_wanted:
        return Reason.SIGNAL_MISSING
    return Reason.NO_SELF_REPORT if trust is None else Reason.CLEARED


def _wide_gap(s: float | None, g: float | None) -> bool:
    # As decimals: 0.7 - 0.5 is 0.19999999999999996 in floating point, and a gap of 0.2 to a person.
    return s is not None and g is not None and abs(Decimal(repr(g)) - Decimal(repr(s))) >= WIDE_GAP


def _inputs(given: VerifierInput | CalibrationInput | GroundingInput | CheckInput | None) -> dict[str, Any]:
    return {} if given is None else dict(vars(given))


def recompute(report: Mapping[str, Any]) -> Report:
    """The decision again, from the inputs a stored report holds; an audit compares ``to_json()`` of both.

    Raises ValueError when the report does not hold inputs that could have been decided on.
    """
    try:
        if report["version"] != VERSION:
            raise ValueError(f"not a trust report of version {VERSION}: version {report['version']!r}")
        inputs = {stage["stage"]: stage["inputs"] for stage in report["stages"]}
        verifier, calibration, grounding = inputs["verifier"], inputs["calibration"], inputs["grounding"]
        return evaluate(
            **inputs["self_report"],
            verifier=VerifierInput(**verifier) if verifier else None,
            calibration=CalibrationInput(**calibration) if calibration else None,
            grounding=GroundingInput(**grounding) if grounding else None,
            checks=[CheckInput(**check) for check in inputs["checks"]["checks"]],
            **_gate_inputs(inputs["gate"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a trust report of version {VERSION}: {error!r}") from error


def _gate_inputs(gate: Mapping[str, Any]) -> dict[str, Any]:
    told = gate.get("bias")
    if told is None:
        return dict(gate)
    given = {name: value for name, value in told.items() if name not in ("observed", "meaning", "threshold")}
    return {**gate, "bias": BiasInput(**given)}
