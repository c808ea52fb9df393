"""The threshold in force: what an agent's drift does to it, and what the report says of that."""

import pytest

from runs.trust.narrative import narrative, verdict
from runs.trust.vector import BiasInput, evaluate, recompute
from tests.runs.trust.deciding import check, decide


def bias(**given):
    return BiasInput(**{"enforce": True, "n": 10, "kept": 8, "claimed": 0.95} | given)


def gate(report):
    return report["stages"][-1]["inputs"]


def test_enforced_drift_raises_the_threshold_the_step_is_held_to():
    # 80 % kept against 95 % claimed: 75 % became 90 %. 0.85 would have cleared.
    report = decide(self_report=0.85, bias=bias())

    assert (report["confidence_threshold"], gate(report)["confidence_threshold"]) == (0.90, 0.75)
    assert (report["cleared"], report["action"]) == (False, "escalate")
    assert (
        "This agent claims 95%, people kept 80% (its last 10 judged answers): threshold 75% became 90%."
        in narrative(report)
    )
    assert "falls short of this step's 90%" in verdict(report)


def test_advisory_drift_is_told_and_changes_nothing():
    report = decide(self_report=0.85, bias=bias(enforce=False))

    assert (report["confidence_threshold"], report["cleared"]) == (0.75, True)
    assert any(
        entry.endswith("threshold 75% would become 90%, were threshold_bias enforced.") for entry in narrative(report)
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kept": 9}, "within 10 points, which is noise. The threshold stays."),
        ({"n": 4, "kept": 1}, "People have judged 4 answers of this agent; its drift takes 5. The threshold stays."),
        ({"n": 0, "kept": 0, "claimed": None}, "People have judged 0 answers of this agent; its drift takes 5."),
        ({"kept": 10, "claimed": 0.6}, "the threshold of 75% stays, and is not lowered for that."),
        ({"kept": 10, "claimed": 0.6, "allow_lower": True}, "threshold 75% became 35%."),
    ],
)
def test_what_is_told(given, words):
    assert any(words in entry for entry in narrative(decide(bias=bias(**given))))


def test_nothing_is_told_of_an_agent_nobody_judged():
    told = narrative(decide(bias=bias(enforce=False, n=0, kept=0, claimed=None)))

    assert told == narrative(decide())


def test_a_branch_without_a_threshold_has_none_to_move():
    report = decide(bias=bias(), confidence_threshold=None)

    assert report["confidence_threshold"] is None
    assert any("its group decides" in entry for entry in narrative(report))


@pytest.mark.parametrize("given", [{}, {"enforce": False}, {"n": 0, "kept": 0, "claimed": None}])
def test_a_stored_report_is_recomputed_byte_for_byte(given):
    report = decide(self_report=0.85, bias=bias(**given))

    assert recompute(report).to_json() == report
    assert "bias" not in gate(decide())  # reports from before say what they said


@pytest.mark.parametrize(
    "given",
    [
        {"kept": 11},
        {"claimed": None},
        {"n": 0, "kept": 0},
        {"claimed": float("nan")},
        {"enforce": 1},
        {"least": 0},
        {"band": 2},
    ],
)
def test_what_breaks_the_contract_is_refused_by_name(given):
    with pytest.raises(ValueError, match=r"^bias\."):
        bias(**given)


def test_no_drift_lets_a_failed_check_pass():
    report = evaluate(
        self_report=0.9,
        confidence_threshold=0.1,
        on_low_confidence="escalate",
        checks=[check("c", passed=False)],
        bias=bias(kept=10, claimed=0.6, allow_lower=True),
    ).to_json()

    assert (report["confidence_threshold"], report["cleared"]) == (0.0, False)
