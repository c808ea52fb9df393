import pytest

from calibration.bins import Bin
from calibration.flags import flag
from calibration.intervals import Interval, wilson


def a_bin(accuracy: float, confidence: float, n: int = 40, *, validated: bool = True) -> Bin:
    return Bin(0.9, 1.0, n, accuracy, confidence, wilson(accuracy, n), validated)


def test_an_agent_that_claims_more_than_it_holds():
    # Wilson of 30 of 40 is [0.598, 0.858]: 0.9 lies outside
    found = flag(a_bin(0.75, 0.9))
    assert (found.direction, found.supported, found.gap) == ("over", True, pytest.approx(0.15))
    assert found.sentence == "runs scoring ~90% here are only 75% correct"
    assert found.support == "40 labels: the 95% interval bears this out"


def test_an_agent_that_claims_less():
    found = flag(a_bin(0.95, 0.6))
    assert found.direction == "under"
    assert found.sentence == "runs scoring ~60% here are actually 95% correct"


def test_the_interval_may_not_bear_it_out():
    # Wilson of 14 of 20 is [0.481, 0.855]: wide enough to hold 0.85
    found = flag(a_bin(0.7, 0.85, 20))
    assert not found.supported
    assert found.support == "20 labels: the 95% interval still allows that nothing is wrong"


def test_a_claim_on_the_very_edge_of_the_interval_is_not_outside_it():
    assert not flag(Bin(0.9, 1.0, 20, 0.7, 0.95, Interval(0.4, 0.95), True)).supported
    assert not flag(Bin(0.4, 0.5, 20, 0.7, 0.4, Interval(0.4, 0.95), True)).supported


@pytest.mark.parametrize(("accuracy", "confidence"), [(0.8, 0.95), (0.95, 0.8), (0.75, 0.9), (0.0, 0.15), (0.55, 0.7)])
def test_exactly_15_points_are_enough_whatever_floating_point_makes_of_them(accuracy, confidence):
    assert flag(a_bin(accuracy, confidence)) is not None


@pytest.mark.parametrize(("accuracy", "confidence"), [(0.801, 0.95), (0.95, 0.801), (0.5, 0.5), (0.0, 0.14999)])
def test_less_is_no_flag(accuracy, confidence):
    assert flag(a_bin(accuracy, confidence)) is None


def test_it_is_the_mean_confidence_that_counts_not_the_middle_of_the_bin():
    assert flag(a_bin(0.8, 0.949)) is None
    assert flag(a_bin(0.8, 0.951)) is not None


def test_too_few_labels_are_no_flag():
    assert flag(a_bin(0.0, 0.95, 19, validated=False)) is None


def test_an_empty_bin_is_no_flag():
    assert flag(Bin(0.9, 1.0, 0, None, None, None, False)) is None
