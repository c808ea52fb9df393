"""What the gate made of the number: the last sentence of the narrative, and the verdict in one."""

import pytest

from runs.trust.narrative import narrative, verdict
from runs.trust.vector import GroundingInput, VerifierInput
from tests.runs.trust.deciding import check, decide, grounding, record


def gone(kind, **given):
    return kind(score=None, state="failed", error="timed out", on_error="escalate", **given)


GATES = [
    ({}, "90% is not below the threshold of 75%, so the gate lets the step pass."),
    ({"self_report": 0.75}, "75% is not below the threshold of 75%, so the gate lets the step pass."),
    ({"self_report": 0.7499}, "74.99% is below the threshold of 75%, so a person decides."),
    ({"self_report": 0.5, "on_low_confidence": "abort"}, "50% is below the threshold of 75%, so the step is aborted."),
    (
        {"self_report": 0.5, "on_low_confidence": "proceed"},
        "50% is below the threshold of 75%, but this step is set to proceed all the same.",
    ),
    ({"self_report": None}, "There is no number to compare with a threshold, so the gate lets the step pass."),
    ({"checks": [check("a", False)]}, "A step with a failed check never clears, so a person decides."),
    (
        {"calibration": record(n=0, on_uncalibrated="escalate"), "on_low_confidence": "abort"},
        "On this step, what has no proven track record never clears, so the step is aborted.",
    ),
    (
        {"verifier": gone(VerifierInput)},
        "90% is not below the threshold of 75%. "
        "Since the verifier was wanted and is missing, and this step insists on it, a person decides.",
    ),
    (
        {"grounding": gone(GroundingInput), "self_report": 0.5, "on_low_confidence": "proceed"},
        "50% is below the threshold of 75%. "
        "Since grounding was wanted and is missing, and this step insists on it, a person decides.",
    ),
    (
        {"verifier": gone(VerifierInput), "grounding": gone(GroundingInput), "self_report": None},
        "There is no number to compare with a threshold. "
        "Since the verifier and grounding were wanted and are missing, and this step insists on them, "
        "a person decides.",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), GATES)
def test_the_gate(given, sentence):
    assert narrative(decide(**given))[-1] == sentence


VERDICTS = [
    ({}, "90% clears this step's 75%: nothing but the agent's own word stands behind it."),
    ({"checks": [check("a")]}, "90% clears this step's 75%: the weakest link is the agent's own number."),
    ({"self_report": 0.5}, "50% falls short of this step's 75%: the weakest link is the agent's own number."),
    ({"self_report": None}, "This step reported no confidence, so there is no trust to compare with a threshold."),
    (
        {"verifier": VerifierInput(score=0.4)},
        "40% falls short of this step's 75%: the weakest link is the verifier, which came to 40%.",
    ),
    (
        {"verifier": VerifierInput(score=0.8)},
        "80% clears this step's 75%: the weakest link is the verifier, which came to 80%.",
    ),
    (
        {"calibration": record()},
        "62% falls short of this step's 75%: the weakest link is its track record, "
        "right 62% of the time (31 labelled results).",
    ),
    (
        {"calibration": record(accuracy=0.8), "self_report": 0.6},
        "80% clears this step's 75%: the number is its track record, right 80% of the time (31 labelled results).",
    ),
    (
        {"calibration": record(n=4, on_uncalibrated="escalate")},
        "0% falls short of any threshold: the weakest link is its track record, "
        "with 4 of the 20 labelled results it needs.",
    ),
    (
        {"calibration": record(n=4, on_uncalibrated="escalate"), "self_report": None},
        "This step cannot clear: the weakest link is its track record, which cannot be looked up without a number.",
    ),
    (
        {"grounding": grounding(0.5, supported=3, total=6)},
        "50% falls short of this step's 75%: the weakest link is its evidence, "
        "since only 3 of 6 claims are backed by a tool result (50%).",
    ),
    (
        {"grounding": grounding(0.8)},
        "80% clears this step's 75%: the weakest link is its evidence, "
        "since its evidence supports only 80% of what it claims.",
    ),
    (
        {"checks": [check("Still breaching", False, "exit code 1")], "confidence_threshold": 0},
        "0% falls short of any threshold: the weakest link is its checks, since the check Still breaching failed.",
    ),
    (
        {"checks": [check("a", False)], "self_report": None},
        "0% falls short of any threshold: the weakest link is its checks, since the check a failed.",
    ),
    (
        {"verifier": gone(VerifierInput)},
        "90% clears this step's 75%, but the verifier was wanted and is missing, so a person decides.",
    ),
    (
        {"verifier": gone(VerifierInput), "self_report": None},
        "This step reported no confidence, and the verifier was wanted and is missing, so a person decides.",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), VERDICTS)
def test_the_verdict(given, sentence):
    assert verdict(decide(**given)) == sentence
