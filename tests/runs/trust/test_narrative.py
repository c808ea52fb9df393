"""How the number came about, in sentences: one for each stage, and what holds for all of them."""

import json
import re

import pytest
from hypothesis import given

from runs.trust.narrative import narrative, verdict
from runs.trust.report import Reason
from runs.trust.vector import GroundingInput, VerifierInput, evaluate
from tests.runs.trust.deciding import check, decide, grounding, record
from tests.runs.trust.strategies import steps

POSITION = {"self_report": 0, "verifier": 1, "calibration": 1, "grounding": 1, "checks": 1}


def said(stage, signal, **given):
    """What the narrative says about the one signal that is configured."""
    return narrative(decide(**{stage: signal} | given))[POSITION[stage]]


RESET = "Calibration was reset when this step's prompt changed on 3 Jul."
MEASURED = (
    "At 90 to 100% confidence, this exact agent, model and prompt were right 62% of the time "
    "(31 labelled results, 95% interval 45 to 77%)."
)
ASKED = "A reviewer that saw its answer scored it"


@pytest.mark.parametrize(
    ("signal", "s", "sentence"),
    [
        (VerifierInput(score=0.8), 0.9, f"{ASKED} 80%. The lower of the two counts, so 90% became 80%."),
        (VerifierInput(score=0.95), 0.9, f"{ASKED} 95%. A verifier can only lower the number, so 90% stood."),
        (VerifierInput(score=0.8), None, f"{ASKED} 80%. There is no number it could lower."),
        (
            VerifierInput(score=0.8, mode="independent"),
            0.9,
            "A second agent that did the task without seeing the answer reported 80%. "
            "The lower of the two counts, so 90% became 80%.",
        ),
        (
            VerifierInput(score=0.8, mode=""),
            0.9,
            "A verifier scored it 80%. The lower of the two counts, so 90% became 80%.",
        ),
        (
            VerifierInput(score=0.4, combination_strategy="veto"),
            0.9,
            f"{ASKED} 40%. That is below this step's veto floor of 60%, so 90% became 40%.",
        ),
        (
            VerifierInput(score=0.85, combination_strategy="veto"),
            0.9,
            f"{ASKED} 85%. This step lets a verifier override only below 60%, so 90% stood.",
        ),
        (
            VerifierInput(score=0.5, combination_strategy="veto"),
            0.3,
            f"{ASKED} 50%. A verifier can only lower the number, so 30% stood.",
        ),
        (
            VerifierInput(score=None, state="skipped"),
            0.9,
            "The verifier was not asked, since its trigger did not fire.",
        ),
        (VerifierInput(score=None), 0.9, "The verifier answered without a score. It changes nothing."),
        (
            VerifierInput(score=None, state="failed", error="timed out after\n30 s."),
            0.9,
            "A verifier was wanted and is missing, because: timed out after 30 s. No number was changed for it.",
        ),
        (
            VerifierInput(score=None, state="failed"),
            0.9,
            "A verifier was wanted and is missing, because: it failed without saying why. "
            "No number was changed for it.",
        ),
    ],
)
def test_the_verifier(signal, s, sentence):
    assert said("verifier", signal, self_report=s) == sentence


@pytest.mark.parametrize(
    ("signal", "s", "sentence"),
    [
        (record(), 0.9, f"{MEASURED} That measured figure replaced 90%."),
        (record(), 0.5, f"{MEASURED} That measured figure replaced 50%, and so raised it."),
        (record(), 0.62, f"{MEASURED} That is the number itself, so 62% stood."),
        (
            record(lo=None, hi=None, n=1, n_min=1, accuracy=1.0),
            0.9,
            "At this confidence, this exact agent, model and prompt were right 100% of the time "
            "(1 labelled result, 95% interval 21 to 100%). That measured figure replaced 90%, and so raised it.",
        ),
        (
            record(lo=0.875, hi=1.0, n=0, n_min=1, enforce=False, accuracy=None),
            0.9,
            "Calibration is advisory on this step and changes nothing.",
        ),
        (record(enforce=False), 0.9, f"{MEASURED} Calibration is advisory on this step and changes nothing."),
        (
            record(enforce=False, n=4, reset=RESET),
            0.9,
            "At 90 to 100% confidence, this exact agent, model and prompt were right 62% of the time "
            f"(4 labelled results, 95% interval 22 to 91%). Calibration is advisory on this step and changes nothing. "
            f"{RESET}",
        ),
        (
            record(n=4, reset=RESET),
            0.9,
            f"Calibration has 4 of the 20 labelled results it needs at this confidence, so 90% stood. {RESET}",
        ),
        (
            record(n=0, accuracy=None),
            0.9,
            "Calibration has 0 of the 20 labelled results it needs at this confidence, so 90% stood.",
        ),
        (
            record(n=4, on_uncalibrated="escalate", reset=RESET),
            0.9,
            "Calibration has 4 of the 20 labelled results it needs at this confidence, "
            f"and until it has them this step's trust is 0%. {RESET}",
        ),
        (
            record(n=4, on_uncalibrated="escalate"),
            None,
            "This step trusts only a proven track record, and without a number there is none to look up.",
        ),
        (record(), None, "Calibration had no number to look up. It changes nothing."),
    ],
)
def test_calibration(signal, s, sentence):
    assert said("calibration", signal, self_report=s) == sentence


SHADOW = "Grounding is in shadow mode on this step, recorded without effect."


@pytest.mark.parametrize(
    ("signal", "s", "sentence"),
    [
        (
            grounding(0.5, supported=3, total=6),
            0.9,
            "Only 3 of 6 claims are backed by a tool result (50%), so trust cannot exceed 50%, and 90% became 50%.",
        ),
        (
            grounding(1 / 6, supported=1, total=6),
            0.9,
            "Only 1 of 6 claims is backed by a tool result (17%), so trust cannot exceed 17%, and 90% became 17%.",
        ),
        (
            grounding(0.0, supported=0, total=1),
            0.9,
            "Its one claim is not backed by a tool result (0%), so trust cannot exceed 0%, and 90% became 0%.",
        ),
        (
            grounding(0.5),
            0.9,
            "Its evidence supports only 50% of what it claims, so trust cannot exceed 50%, and 90% became 50%.",
        ),
        (
            grounding(1.0, supported=1, total=1),
            0.9,
            "Its one claim is backed by a tool result (100%). That is not below 90%, so it changes nothing.",
        ),
        (
            grounding(0.9),
            0.9,
            "Its evidence supports 90% of what it claims. That is not below 90%, so it changes nothing.",
        ),
        (grounding(0.5), None, "Its evidence supports 50% of what it claims. There is no number it could lower."),
        (
            grounding(0.5, enforce=False, supported=3, total=6),
            0.9,
            f"3 of 6 claims are backed by a tool result (50%). {SHADOW} "
            "Enforced, it would have capped the number at 50%.",
        ),
        (grounding(1.0, enforce=False), 0.9, f"Its evidence supports 100% of what it claims. {SHADOW}"),
        (grounding(0.5, enforce=False), None, f"Its evidence supports 50% of what it claims. {SHADOW}"),
        (grounding(None), 0.9, "Grounding was wanted and has no score. It changes nothing."),
        (
            grounding(None, error="the executor cannot report tool calls"),
            0.9,
            "Grounding was wanted and has no score, because: the executor cannot report tool calls. "
            "It changes nothing.",
        ),
        (
            grounding(None, state="failed", error="connection refused"),
            0.9,
            "Grounding was wanted and is missing, because: connection refused. No number was changed for it.",
        ),
        (
            grounding(None, state="skipped", error="there is no trace."),
            0.9,
            "Grounding was wanted and has no score, because: there is no trace. It changes nothing.",
        ),
    ],
)
def test_grounding(signal, s, sentence):
    assert said("grounding", signal, self_report=s) == sentence


@pytest.mark.parametrize(
    ("checks", "sentence"),
    [
        ([check("a")], "The check a passed and changes nothing."),
        ([check("a"), check("b"), check("c")], "All 3 checks passed (a, b and c) and change nothing."),
        (
            [check("a"), check("b", False, " exit\ncode 1. ")],
            "The check b failed (exit code 1), which forces trust to 0% whatever the other signals say.",
        ),
        (
            [check("a", False, "x"), check("b"), check("c", False)],
            "2 of 3 checks failed (a and c), which forces trust to 0% whatever the other signals say.",
        ),
    ],
)
def test_checks(checks, sentence):
    assert said("checks", checks) == sentence


def test_what_is_not_configured_is_said():
    assert narrative(decide())[1] == "Not configured on this step: a verifier, calibration, grounding and checks."
    assert narrative(decide(checks=[check("a")], verifier=VerifierInput(score=0.8)))[3] == (
        "Not configured on this step: calibration and grounding."
    )


def test_the_wide_gap_is_said():
    told = narrative(decide(self_report=0.7, grounding=GroundingInput(score=0.5)))
    assert told[2] == (
        "What the agent reported (70%) and what its evidence supports (50%) lie 20 percentage points or more apart."
    )
    assert not any("apart" in line for line in narrative(decide(self_report=0.69, grounding=GroundingInput(score=0.5))))


def test_a_long_error_is_clipped_and_everything_stays_one_line():
    line = said("verifier", VerifierInput(score=None, state="failed", error="no\n" * 500))
    assert len(line) < 320
    assert "\n" not in line


@given(steps)
def test_whatever_is_said_is_a_whole_sentence_with_words_for_everything(step):
    report = json.loads(json.dumps(evaluate(**step).to_json()))
    for line in [*narrative(report), verdict(report)]:
        assert re.fullmatch(r"[A-Z0-9].*\.", line), line
        assert not re.search(r"None|True|False|nan|  |\.\.|\{|_|@", line.replace("still_breaching", "name")), line


@given(steps)
def test_the_words_agree_with_the_decision(step):
    report = evaluate(**step).to_json()
    last, summary = narrative(report)[-1], verdict(report)
    assert ("a person decides" in last) == (report["action"] == "escalate")
    assert ("is aborted" in last) == (report["action"] == "abort")
    assert ("proceed all the same" in last) == (report["action"] == "proceed")
    assert ("lets the step pass" in last) == (report["action"] == "none")
    assert ("falls short" in summary or "cannot clear" in summary) == (not report["cleared"])


@given(steps)
def test_every_reason_of_a_configured_stage_has_words_and_none_raises(step):
    report = evaluate(**step).to_json()
    configured = [stage for stage in report["stages"] if stage["reason"] != Reason.NOT_CONFIGURED]
    everything = len(configured) == len(report["stages"])
    assert len(narrative(report)) == len(configured) + report["wide_gap"] + (not everything)
