"""The record of one decision: every stage with what went in, what came out and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

VERSION = 1


class Reason(StrEnum):
    """Why a stage did what it did. Stored in reports: never rename one."""

    REPORTED = "reported"  # self-report: the agent said a number
    NO_SELF_REPORT = "no_self_report"  # there is no number this stage could act on
    NOT_CONFIGURED = "not_configured"
    NOT_TRIGGERED = "not_triggered"  # verifier: outside its trigger band
    MISSING = "missing"  # wanted, and could not be had: the stage's inputs hold the error
    NOTHING_TO_JUDGE = "nothing_to_judge"  # no score, and no failure: no claims, or no trace to judge them by
    LOWERED = "lowered"  # verifier: V was below S
    VETOED = "vetoed"  # verifier: V was below the veto floor and below S
    ABOVE_VETO_FLOOR = "above_veto_floor"
    NOT_LOWER = "not_lower"  # V or G was not below the number it could have lowered
    ADVISORY = "advisory"  # calibration: not enforced
    MEASURED = "measured"  # calibration: the measured accuracy replaced the number
    UNCALIBRATED = "uncalibrated"  # calibration: too few labels, the number stays
    UNCALIBRATED_ESCALATE = "uncalibrated_escalate"  # calibration: too few labels, never clears
    SHADOW = "shadow"  # grounding: not enforced
    CAPPED = "capped"  # grounding: G was below the number
    PASSED = "passed"  # checks: all of them
    CHECK_FAILED = "check_failed"
    CLEARED = "cleared"  # gate
    BELOW_THRESHOLD = "below_threshold"
    LEFT_TO_GROUP = "left_to_group"  # gate: a branch without a threshold of its own
    SIGNAL_MISSING = "signal_missing"  # gate: the number clears, a signal with on_error: escalate is missing


APPLIED = frozenset(
    {Reason.REPORTED, Reason.LOWERED, Reason.VETOED, Reason.MEASURED, Reason.UNCALIBRATED_ESCALATE, Reason.CAPPED,
     Reason.CHECK_FAILED, Reason.BELOW_THRESHOLD, Reason.SIGNAL_MISSING}
)  # fmt: skip


def never_clears(report: Mapping[str, Any]) -> bool:
    """Whether a stored report forbids its step to clear, whatever the threshold; a step without one forbids nothing."""
    reasons = {stage["reason"] for stage in report.get("stages", ())}
    return not reasons.isdisjoint({Reason.CHECK_FAILED, Reason.UNCALIBRATED_ESCALATE})


@dataclass(frozen=True)
class Stage:
    """``before`` and ``after`` are None while there is no number. ``enforced``: it may act on the gate."""

    stage: str
    before: float | None
    after: float | None
    enforced: bool
    reason: Reason
    inputs: dict[str, Any]

    @property
    def applied(self) -> bool:
        """It set the number (or, for the gate, it fired)."""
        return self.reason in APPLIED

    def to_json(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "before": self.before,
            "after": self.after,
            "applied": self.applied,
            "enforced": self.enforced,
            "reason": self.reason.value,
            "inputs": self.inputs,
        }


@dataclass(frozen=True)
class Report:
    """One decision of the gate. Go by ``action``, not by ``cleared``.

    ``cleared`` is about the number alone: trust is not below the threshold, no check failed and no
    missing track record forbids it. ``action`` is what happens: none, escalate, abort or proceed
    (not cleared, and goes on all the same); it is also escalate when the number clears and a signal
    with ``on_error: escalate`` is missing. ``weakest`` is the stage that set the number.
    """

    signals: dict[str, Any]
    stages: Sequence[Stage]
    combined_trust: float | None
    cleared: bool
    action: str
    confidence_threshold: float | None
    on_low_confidence: str
    weakest: str | None
    wide_gap: bool

    def to_json(self) -> dict[str, Any]:
        """The stored trust report: equal inputs give equal bytes, keys in this order."""
        return {
            "version": VERSION,
            "signals": self.signals,
            "stages": [stage.to_json() for stage in self.stages],
            "combined_trust": self.combined_trust,
            "cleared": self.cleared,
            "action": self.action,
            "confidence_threshold": self.confidence_threshold,
            "on_low_confidence": self.on_low_confidence,
            "weakest": self.weakest,
            "wide_gap": self.wide_gap,
        }
