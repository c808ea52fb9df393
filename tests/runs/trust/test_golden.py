"""The worked example of the documentation, number by number and word by word."""

import json

from runs.trust.narrative import narrative, verdict
from runs.trust.vector import CalibrationInput, CheckInput, GroundingInput, VerifierInput, evaluate, recompute


def worked_example():
    return evaluate(
        self_report=0.95,
        verifier=VerifierInput(score=0.85, combination_strategy="veto", veto_floor=0.60, mode="critic"),
        calibration=CalibrationInput(enforce=True, n=31, n_min=20, accuracy=0.62, lo=0.9, hi=1.0),
        grounding=GroundingInput(enforce=True, score=0.50, supported=3, total=6),
        checks=[CheckInput(name="still_breaching", passed=True)],
        confidence_threshold=0.75,
        on_low_confidence="escalate",
    )


def test_the_worked_example_stage_by_stage():
    report = worked_example().to_json()
    assert [
        (stage["stage"], stage["before"], stage["after"], stage["applied"], stage["enforced"], stage["reason"])
        for stage in report["stages"]
    ] == [
        ("self_report", None, 0.95, True, True, "reported"),
        ("verifier", 0.95, 0.95, False, True, "above_veto_floor"),
        ("calibration", 0.95, 0.62, True, True, "measured"),
        ("grounding", 0.62, 0.50, True, True, "capped"),
        ("checks", 0.50, 0.50, False, True, "passed"),
        ("gate", 0.50, 0.50, True, True, "below_threshold"),
    ]
    assert report["signals"] == {"S": 0.95, "V": 0.85, "S_after_V": 0.95, "G": 0.50, "D": True}
    assert (report["combined_trust"], report["cleared"], report["action"]) == (0.50, False, "escalate")
    assert (report["weakest"], report["wide_gap"]) == ("grounding", True)


def test_the_worked_example_in_words():
    report = worked_example().to_json()
    assert verdict(report) == (
        "50% falls short of this step's 75%: the weakest link is its evidence, "
        "since only 3 of 6 claims are backed by a tool result (50%)."
    )
    assert narrative(report) == [
        "The agent reported 95%.",
        "A reviewer that saw its answer scored it 85%. This step lets a verifier override only below 60%, "
        "so 95% stood.",
        # Wilson for .62 of 31: (.62 + z2/62 +- z sqrt(.62 * .38 / 31 + z2/3844)) / (1 + z2/31), z2 = 3.8415
        # = (.6820 +- .1817) / 1.1239 = .445 and .768
        "At 90 to 100% confidence, this exact agent, model and prompt were right 62% of the time "
        "(31 labelled results, 95% interval 45 to 77%). That measured figure replaced 95%.",
        "Only 3 of 6 claims are backed by a tool result (50%), so trust cannot exceed 50%, and 62% became 50%.",
        "What the agent reported (95%) and what its evidence supports (50%) lie 20 percentage points or more apart.",
        "The check still_breaching passed and changes nothing.",
        "50% is below the threshold of 75%, so a person decides.",
    ]


def test_the_worked_example_recomputes_from_its_stored_text():
    stored = json.dumps(worked_example().to_json())
    assert json.dumps(recompute(json.loads(stored)).to_json()) == stored
