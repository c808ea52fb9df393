"""The edges of the formula, one by one."""

import json
import re

import pytest

from runs.trust.vector import CalibrationInput, CheckInput, GroundingInput, VerifierInput, evaluate, recompute


def decide(**given):
    return evaluate(**{"self_report": 0.9, "confidence_threshold": 0.75, "on_low_confidence": "escalate"} | given)


def reasons(report):
    return {stage.stage: stage.reason.value for stage in report.stages}


def record(**given):
    return CalibrationInput(**{"enforce": True, "n": 20, "n_min": 20, "accuracy": 0.5} | given)


@pytest.mark.parametrize(
    ("s", "v", "strategy", "after", "reason"),
    [
        (0.9, 0.8, "minimum", 0.8, "lowered"),
        (0.8, 0.9, "minimum", 0.8, "not_lower"),
        (0.8, 0.8, "minimum", 0.8, "not_lower"),
        (0.9, 0.59, "veto", 0.59, "vetoed"),
        (0.9, 0.60, "veto", 0.9, "above_veto_floor"),  # the floor itself does not veto
        (0.9, 0.85, "veto", 0.9, "above_veto_floor"),
        (0.3, 0.5, "veto", 0.3, "not_lower"),
        (None, 0.5, "minimum", None, "no_self_report"),
    ],
)
def test_the_verifier(s, v, strategy, after, reason):
    report = decide(self_report=s, verifier=VerifierInput(score=v, combination_strategy=strategy))
    assert (report.signals["S_after_V"], reasons(report)["verifier"]) == (after, reason)


@pytest.mark.parametrize(
    ("calibration", "trust", "reason"),
    [
        (record(accuracy=0.62), 0.62, "measured"),
        (record(accuracy=0.95), 0.95, "measured"),  # the one way up
        (record(accuracy=0.0), 0.0, "measured"),
        (record(n=19), 0.9, "uncalibrated"),
        (record(n=0, accuracy=None), 0.9, "uncalibrated"),
        (record(n=19, on_uncalibrated="escalate"), 0.0, "uncalibrated_escalate"),
        (record(on_uncalibrated="escalate"), 0.5, "measured"),
        (record(enforce=False), 0.9, "advisory"),
        (record(enforce=False, n=0, accuracy=None, on_uncalibrated="escalate"), 0.9, "advisory"),
        (None, 0.9, "not_configured"),
    ],
)
def test_calibration(calibration, trust, reason):
    report = decide(calibration=calibration)
    assert (report.combined_trust, reasons(report)["calibration"]) == (trust, reason)


def test_grounding_caps_what_calibration_raised():
    report = decide(calibration=record(accuracy=0.95), grounding=GroundingInput(enforce=True, score=0.7))
    assert (report.combined_trust, report.weakest) == (0.7, "grounding")


@pytest.mark.parametrize(
    ("s", "g", "wide"),
    [
        (0.7, 0.5, True),  # 0.19999999999999996 in floating point
        (0.5, 0.7, True),
        (0.3, 0.1, True),  # 0.19999999999999998
        (0.95, 0.75, True),
        (0.69, 0.5, False),
        (0.699999, 0.5, False),
        (0.9, 1.0, False),
        (None, 0.1, False),
        (0.9, None, False),
    ],
)
def test_the_wide_gap_between_said_and_shown(s, g, wide):
    assert decide(self_report=s, grounding=GroundingInput(score=g)).wide_gap is wide


SIGNALS = [(VerifierInput, "verifier"), (GroundingInput, "grounding")]


@pytest.mark.parametrize(("kind", "name"), SIGNALS)
def test_wanted_and_missing_is_told_from_not_asked_and_not_configured(kind, name):
    skipped = "not_triggered" if kind is VerifierInput else "nothing_to_judge"  # grounding has no trigger
    given = {
        "missing": kind(score=None, state="failed", error="timed out after 30 s"),
        "nothing_to_judge": kind(score=None),
        skipped: kind(score=None, state="skipped"),
        "not_configured": None,
    }
    found = {reason: decide(**{name: signal}) for reason, signal in given.items()}
    assert {reason: reasons(report)[name] for reason, report in found.items()} == {reason: reason for reason in given}
    missing = next(stage for stage in found["missing"].stages if stage.stage == name)
    assert missing.inputs["error"] == "timed out after 30 s"
    assert [report.action for report in found.values()] == ["none"] * len(found)


@pytest.mark.parametrize(("kind", "name"), SIGNALS)
@pytest.mark.parametrize("policy", ["escalate", "abort", "proceed"])
@pytest.mark.parametrize("s", [0.9, 0.5, None])
def test_a_signal_the_step_insists_on_is_missing(kind, name, policy, s):
    gone = kind(score=None, state="failed", on_error="escalate", error="timed out")
    report = decide(self_report=s, on_low_confidence=policy, **{name: gone})
    assert (report.combined_trust, report.action) == (s, "escalate")
    assert report.cleared is (s != 0.5)
    assert reasons(report)["gate"] == ("below_threshold" if s == 0.5 else "signal_missing")


@pytest.mark.parametrize(("kind", "name"), SIGNALS)
@pytest.mark.parametrize("state", ["done", "skipped"])
def test_only_an_error_escalates_not_a_signal_that_had_nothing_to_say(kind, name, state):
    assert decide(**{name: kind(score=None, state=state, on_error="escalate")}).action == "none"


def test_a_step_without_a_self_report_is_not_gated():
    report = decide(
        self_report=None,
        verifier=VerifierInput(score=0.1),
        calibration=record(accuracy=0.1),
        grounding=GroundingInput(enforce=True, score=0.1),
        checks=[CheckInput(name="a", passed=True)],
    )
    assert (report.combined_trust, report.cleared, report.action, report.weakest) == (None, True, "none", None)
    assert set(reasons(report).values()) == {"no_self_report", "passed"}


def test_a_step_without_a_self_report_whose_check_failed():
    report = decide(self_report=None, checks=[CheckInput(name="a", passed=False)], confidence_threshold=0)
    assert (report.combined_trust, report.cleared, report.action, report.weakest) == (0.0, False, "escalate", "checks")


def test_a_step_without_a_self_report_that_insists_on_a_record():
    report = decide(self_report=None, calibration=record(on_uncalibrated="escalate"), confidence_threshold=0)
    assert (report.combined_trust, report.cleared, report.action) == (None, False, "escalate")
    assert report.weakest == "calibration"


def test_a_failed_check_obeys_the_policy_of_the_step():
    failed = [CheckInput(name="a", passed=False)]
    actions = [decide(checks=failed, on_low_confidence=policy).action for policy in ("escalate", "abort", "proceed")]
    assert actions == ["escalate", "abort", "proceed"]


def test_whole_numbers_and_minus_zero_are_written_as_what_they_equal():
    one, other = decide(self_report=1, confidence_threshold=0), decide(self_report=1.0, confidence_threshold=-0.0)
    assert json.dumps(one.to_json()) == json.dumps(other.to_json())


def test_the_old_names_of_the_modes_are_the_modes():
    assert VerifierInput(score=0.5, mode="reviewer") == VerifierInput(score=0.5, mode="critic")
    assert VerifierInput(score=0.5, mode="challenger") == VerifierInput(score=0.5, mode="independent")


def test_what_no_database_would_store_is_written_visibly():
    report = decide(checks=[CheckInput(name="a\x00", passed=True, detail="\ud800")]).to_json()
    assert report["stages"][4]["inputs"]["checks"] == [{"name": "a\\u0000", "passed": True, "detail": "\\ud800"}]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: VerifierInput(score=0.5, combination_strategy="mean"), "verifier.combination_strategy: expected one"),
        (lambda: VerifierInput(score=0.5, mode="judge"), "verifier.mode: expected one of critic, independent"),
        (lambda: VerifierInput(score=0.5, on_error="abort"), "verifier.on_error: expected one of ignore, escalate"),
        (lambda: VerifierInput(score=0.5, state="failed"), "verifier.score: expected none"),
        (lambda: GroundingInput(score=0.5, state="pending"), "grounding.state: expected one of done, failed, skipped"),
        (lambda: GroundingInput(score=0.5, enforce=1), "grounding.enforce: expected true or false"),
        (lambda: GroundingInput(score=0.5, supported=3), "grounding.supported: expected at most grounding.total"),
        (lambda: GroundingInput(score=0.5, supported=3, total=2), "grounding.supported: expected at most"),
        (lambda: GroundingInput(score=0.5, supported=-1, total=2), "grounding.supported: expected a whole number"),
        (lambda: record(n=True), "calibration.n: expected a whole number"),
        (lambda: record(n=10**400), "calibration.n: expected a whole number"),
        (lambda: record(n_min=0), "calibration.n_min: expected a whole number from 1"),
        (lambda: record(accuracy=None), "calibration.accuracy: expected a number from 0 to 1, since n reaches n_min"),
        (lambda: record(on_uncalibrated="abort"), "calibration.on_uncalibrated: expected one of proceed, escalate"),
        (lambda: record(reset=5), "calibration.reset: expected text"),
        (lambda: CheckInput(name="a", passed=1), "checks.passed: expected true or false"),
        (lambda: CheckInput(name=None, passed=True), "checks.name: expected text"),
        (lambda: decide(on_low_confidence="ignore"), "on_low_confidence: expected one of escalate, abort, proceed"),
        (lambda: decide(confidence_threshold="0.5"), "confidence_threshold: expected a number"),
    ],
)
def test_whatever_breaks_the_contract_is_named(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_a_report_of_another_version_or_without_its_inputs_cannot_be_recomputed():
    stored = decide().to_json()
    broken = [
        {},
        stored | {"version": 2},
        stored | {"stages": []},
        stored | {"stages": None},
        stored | {"stages": [{**stage, "inputs": {"extra": 1}} for stage in stored["stages"]]},
    ]
    for report in broken:
        with pytest.raises(ValueError, match="not a trust report of version 1"):
            recompute(report)


def test_an_audit_sees_a_number_that_was_tampered_with():
    stored = decide(self_report=0.5).to_json()
    assert recompute(stored).to_json() == stored
    stored["combined_trust"], stored["action"] = 0.95, "none"
    assert recompute(stored).to_json() != stored
