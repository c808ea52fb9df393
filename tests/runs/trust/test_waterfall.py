"""Positions by hand, from the seed's worked example: .95, veto V .85, measured .62, G .50, a check that passed."""

import pytest

from runs.trust.vector import CalibrationInput, CheckInput, GroundingInput, VerifierInput
from runs.trust.waterfall import Bar, waterfall, whole
from tests.factories import worked_example


def bars(**changes: object) -> dict[str, Bar]:
    picture = waterfall(worked_example(**changes))
    assert picture is not None
    return {bar.stage: bar for bar in picture.bars}


def test_the_worked_example() -> None:
    picture = waterfall(worked_example())
    assert picture is not None
    assert picture.threshold == 0.75
    assert [(bar.stage, bar.after, bar.taken, bar.faded, bar.dot) for bar in picture.bars] == [
        ("self_report", 0.95, None, False, None),
        ("verifier", 0.95, None, True, 0.85),
        ("calibration", 0.62, (0.62, 0.95), False, None),
        ("grounding", 0.5, (0.5, 0.62), False, None),
        ("checks", 0.5, None, True, None),
    ]
    assert [bar.note for bar in picture.bars] == [
        "what it said",
        "85 clears veto 60",
        "50 marked runs",
        "3 of 6 claims",
        "1 of 1 passed",
    ]
    assert picture.label == (
        "Trust from 95 percent self-report to 50 percent, lowered by calibration and grounding; threshold 75 percent"
    )


def test_calibration_that_raises_shows_where_trust_came_from() -> None:
    raised = bars(self_report=0.6, verifier=None, grounding=None,
                  calibration=CalibrationInput(enforce=True, n=40, n_min=20, accuracy=0.95))["calibration"]  # fmt: skip
    assert raised.gained == (0.6, 0.95)
    assert raised.taken is None
    assert not raised.faded


def test_shadow_grounding_is_a_dot_on_a_faded_bar() -> None:
    bar = bars(grounding=GroundingInput(enforce=False, score=0.25, supported=1, total=4))["grounding"]
    assert (bar.faded, bar.dot, bar.note) == (True, 0.25, "1 of 4 claims, shadow")


def test_a_missing_signal_is_told_apart_from_one_that_agreed() -> None:
    bar = bars(verifier=VerifierInput(score=None, state="failed", error="no answer"))["verifier"]
    assert bar.missing
    assert bar.note == "wanted, missing"
    assert bar.faded


def test_a_signal_that_had_nothing_to_look_at_says_so() -> None:
    assert bars(verifier=VerifierInput(score=None, state="skipped"))["verifier"].note == "not triggered"
    assert bars(grounding=GroundingInput(score=None, state="skipped"))["grounding"].note == "no trace to check"
    assert bars(grounding=GroundingInput(score=None))["grounding"].note == "no claims to check"


def test_a_failed_check_takes_everything() -> None:
    bar = bars(checks=[CheckInput(name="a", passed=True), CheckInput(name="b", passed=False)])["checks"]
    assert (bar.after, bar.taken, bar.note) == (0.0, (0.0, 0.5), "1 of 2 failed")


def test_what_is_not_configured_has_no_row() -> None:
    assert list(bars(verifier=None, calibration=None, grounding=None, checks=[])) == ["self_report"]


def test_advisory_calibration_shows_its_measure_as_a_dot_once_validated() -> None:
    known = bars(calibration=CalibrationInput(enforce=False, n=31, n_min=20, accuracy=0.62))["calibration"]
    assert (known.faded, known.dot, known.note) == (True, 0.62, "31 marked runs, advisory")
    young = bars(calibration=CalibrationInput(enforce=True, n=4, n_min=20, accuracy=0.5))["calibration"]
    assert (young.faded, young.dot, young.note) == (True, None, "4 of 20 marked")


def test_without_a_self_report_there_is_nothing_to_draw() -> None:
    assert (
        waterfall(worked_example(self_report=None, verifier=None, calibration=None, grounding=None, checks=[])) is None
    )


@pytest.mark.parametrize(("value", "text"), [(0.62, "62"), (0.625, "62.5"), (1.0, "100"), (0.0, "0")])
def test_numbers_on_the_axis(value: float, text: str) -> None:
    assert whole(value) == text
