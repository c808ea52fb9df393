"""The promises of the trust vector, each held against anything a step's signals can be."""

import json
from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from runs.trust.vector import CheckInput, GroundingInput, VerifierInput, evaluate, recompute, s_after_v
from tests.runs.trust.strategies import (
    groundings,
    measured_records,
    policies,
    steps,
    units,
    unproven_records,
    verifiers,
)

PASSED, FAILED = CheckInput(name="a", passed=True), CheckInput(name="b", passed=False)


def measured(step):
    """Whether a validated record replaces the number."""
    calibration = step["calibration"]
    return bool(calibration and calibration.enforce and calibration.validated)


def unproven(step):
    """Whether the step insists on a record that is not there."""
    calibration = step["calibration"]
    if not calibration or not calibration.enforce or calibration.on_uncalibrated != "escalate":
        return False
    return step["self_report"] is None or not calibration.validated


def failed_check(step):
    return any(not check.passed for check in step["checks"])


def insisted_and_missing(step):
    signals = (step["verifier"], step["grounding"])
    return any(signal and signal.state == "failed" and signal.on_error == "escalate" for signal in signals)


@given(steps)
def test_only_an_enforced_validated_record_raises_trust_above_s(step):
    assume(not measured(step))
    trust = evaluate(**step).combined_trust
    assert trust is None or step["self_report"] is None or trust <= step["self_report"]


@given(steps, units, measured_records)
def test_nothing_raises_trust_above_the_record_that_replaced_it(step, s, record):
    report = evaluate(**step | {"self_report": s, "calibration": record})
    assert report.combined_trust <= record.accuracy
    assert report.stages[2].after == record.accuracy  # up or down


@given(units, units, policies)
@example(0.75, 0.75, "escalate")
@example(0.0, 0.0, "abort")
def test_without_any_mechanism_the_gate_is_exactly_s_below_threshold(s, threshold, policy):
    report = evaluate(self_report=s, confidence_threshold=threshold, on_low_confidence=policy)
    assert report.combined_trust == s
    assert report.cleared is not (s < threshold)
    assert report.action == (policy if s < threshold else "none")


@given(steps, st.randoms())
def test_the_order_of_checks_is_irrelevant(step, random):
    shuffled = random.sample(step["checks"], len(step["checks"]))
    one, other = evaluate(**step), evaluate(**step | {"checks": shuffled})
    assert (one.combined_trust, one.cleared, one.action) == (other.combined_trust, other.cleared, other.action)


@given(steps, units)
def test_one_failed_check_gives_0_and_never_clears_not_even_a_threshold_of_0(step, threshold):
    report = evaluate(**step | {"checks": [*step["checks"], FAILED], "confidence_threshold": 0.0})
    assert report.combined_trust == 0.0
    assert not report.cleared
    assert report.action != "none"


@given(steps)
def test_checks_that_pass_change_nothing(step):
    with_checks, without = evaluate(**step | {"checks": [PASSED]}), evaluate(**step | {"checks": []})
    assert (with_checks.combined_trust, with_checks.action) == (without.combined_trust, without.action)


@given(steps, unproven_records)
def test_an_unproven_record_the_step_insists_on_never_clears_not_even_a_threshold_of_0(step, record):
    report = evaluate(**step | {"confidence_threshold": 0.0, "calibration": record})
    assert not report.cleared
    assert report.action != "none"
    assert report.combined_trust == (0.0 if step["self_report"] is not None or failed_check(step) else None)


MISSING = [
    None,
    {"score": None, "state": "failed", "error": "timed out"},
    {"score": None, "state": "failed", "error": "timed out", "on_error": "escalate"},
    {"score": None, "state": "skipped"},
    {"score": None, "state": "done"},
]


@given(steps, st.sampled_from(MISSING))
def test_a_missing_verifier_never_changes_the_number(step, missing):
    given_up = missing and VerifierInput(**missing)
    without, with_missing = evaluate(**step | {"verifier": None}), evaluate(**step | {"verifier": given_up})
    assert with_missing.combined_trust == without.combined_trust
    assert with_missing.cleared == without.cleared


@given(steps, st.sampled_from(MISSING), st.booleans())
def test_missing_grounding_never_changes_the_number(step, missing, enforce):
    given_up = missing and GroundingInput(enforce=enforce, **missing)
    without, with_missing = evaluate(**step | {"grounding": None}), evaluate(**step | {"grounding": given_up})
    assert with_missing.combined_trust == without.combined_trust
    assert with_missing.cleared == without.cleared


@given(steps)
def test_the_result_is_in_0_1_and_is_none_only_without_a_self_report(step):
    trust = evaluate(**step).combined_trust
    assert (trust is None) == (step["self_report"] is None and not failed_check(step))
    assert trust is None or 0 <= trust <= 1


@given(steps)
def test_the_action_follows_from_the_number_and_the_policies(step):
    report = evaluate(**step)
    below = report.combined_trust is not None and report.combined_trust < step["confidence_threshold"]
    assert report.cleared is not (below or failed_check(step) or unproven(step))
    if insisted_and_missing(step):
        assert report.action == "escalate"
    else:
        assert report.action == ("none" if report.cleared else step["on_low_confidence"])


@given(units, verifiers)
def test_a_verifier_only_lowers(s, verifier):
    after = s_after_v(s, verifier)
    assert after <= s
    assert after in (s, verifier.score)
    if verifier.combination_strategy == "veto" and verifier.score is not None:
        assert after == (min(s, verifier.score) if verifier.score < verifier.veto_floor else s)
    elif verifier.score is not None:
        assert after == min(s, verifier.score)


@given(steps, verifiers)
def test_s_after_v_is_what_the_report_says_it_is(step, verifier):
    report = evaluate(**step | {"verifier": verifier})
    assert report.signals["S_after_V"] == s_after_v(step["self_report"], verifier)


@given(steps, groundings())
def test_grounding_in_shadow_mode_never_changes_the_number(step, grounding):
    shadow = replace(grounding, enforce=False)
    assert (
        evaluate(**step | {"grounding": shadow}).combined_trust == evaluate(**step | {"grounding": None}).combined_trust
    )


@given(steps, units)
def test_a_lower_score_never_raises_trust(step, lower):
    grounding = GroundingInput(enforce=True, score=1.0)
    higher = evaluate(**step | {"grounding": grounding}).combined_trust
    capped = evaluate(**step | {"grounding": replace(grounding, score=lower)}).combined_trust
    assert capped is None or capped <= higher
    assert capped is None or capped <= lower


@given(steps)
def test_the_stages_lead_from_s_to_the_combined_trust(step):
    report = evaluate(**step)
    names = [stage.stage for stage in report.stages]
    assert names == ["self_report", "verifier", "calibration", "grounding", "checks", "gate"]
    assert report.stages[0].after == step["self_report"]
    for one, following in zip(report.stages, report.stages[1:], strict=False):
        assert following.before == one.after
    assert report.stages[-1].after == report.combined_trust
    for stage in report.stages[1:-1]:
        assert stage.applied or stage.before == stage.after, "a number changed without a stage that applied"
        assert not stage.applied or stage.enforced, "a stage applied that is not enforced"


@given(steps)
def test_the_weakest_link_is_the_stage_that_set_the_number(step):
    report = evaluate(**step)
    if report.combined_trust is None and not unproven(step):
        assert report.weakest is None
    else:
        named = next(stage for stage in report.stages if stage.stage == report.weakest)
        assert named.after == report.combined_trust


@given(steps)
def test_the_same_inputs_give_the_same_report_byte_for_byte_and_so_does_its_own_text(step):
    text = json.dumps(evaluate(**step).to_json(), allow_nan=False)
    assert json.dumps(evaluate(**step).to_json()) == text
    assert json.dumps(recompute(json.loads(text)).to_json()) == text


BROKEN = [float("nan"), float("inf"), float("-inf"), True, False, "0.9", 95, -0.1, 1.0000001, [], {}, b"1", 10**400]
NUMBERS = ["self_report", "verifier.score", "verifier.veto_floor", "calibration.accuracy", "grounding.score",
           "confidence_threshold"]  # fmt: skip


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize("value", BROKEN, ids=lambda value: repr(value)[:20])
def test_what_is_no_number_in_0_1_never_reaches_the_formula(field, value):
    from runs.trust.vector import CalibrationInput

    group, _, name = field.rpartition(".")
    makers = {
        "verifier": lambda more: VerifierInput(**{"score": 0.5} | more),
        "calibration": lambda more: CalibrationInput(**{"n": 5, "n_min": 5, "accuracy": 0.5} | more),
        "grounding": lambda more: GroundingInput(**{"score": 0.5} | more),
        "": lambda more: evaluate(
            **{"self_report": 0.5, "confidence_threshold": 0.5, "on_low_confidence": "abort"} | more
        ),
    }
    with pytest.raises(ValueError, match=rf"^{field}: expected a number from 0 to 1, not "):
        makers[group]({name: value})
    if field == "self_report":
        with pytest.raises(ValueError, match=r"^self_report: "):
            s_after_v(value, None)
