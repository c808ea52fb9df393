import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.curves import risk_coverage
from calibration.intervals import wilson

PAIRS = [(0.9, 1.0), (0.8, 1.0), (0.8, 0.0), (0.7, 0.5), (0.4, 0.0)]


def test_what_a_threshold_would_have_done():
    (point,) = risk_coverage(PAIRS, thresholds=[0.75])
    # 0.7 and 0.4 go to a person; of the two wrong ones 0.4 is caught; 2 of the 3 that pass are right
    assert (point.passed_n, point.to_person_n, point.wrong_passed, point.wrong_caught) == (3, 2, 1, 1)
    assert point.accuracy_of_passed == pytest.approx(2 / 3)
    assert point.interval == pytest.approx(wilson(2 / 3, 3))
    assert point.to_person_interval == wilson(2 / 5, 5)
    assert point.caught_interval == wilson(1 / 2, 2)


def test_the_gate_stops_only_what_is_strictly_below():
    at, above = risk_coverage(PAIRS, thresholds=[0.8, 0.8000001])
    assert (at.passed_n, above.passed_n) == (3, 1)


def test_a_partial_answer_is_not_a_wrong_one():
    (point,) = risk_coverage([(0.5, 0.5)], thresholds=[0.0])
    assert (point.wrong_passed, point.wrong_caught, point.accuracy_of_passed) == (0, 0, 0.5)
    assert point.caught_interval is None


def test_where_nothing_passes_there_is_no_accuracy():
    (point,) = risk_coverage(PAIRS, thresholds=[0.95])
    assert (point.passed_n, point.to_person_n, point.wrong_caught) == (0, 5, 2)
    assert point.accuracy_of_passed is point.interval is None


def test_one_point_per_whole_percent():
    points = risk_coverage(PAIRS)
    assert [point.threshold for point in points] == [percent / 100 for percent in range(101)]
    assert (points[0].to_person_n, points[100].to_person_n) == (0, 5)


def test_without_labels_there_is_no_curve():
    assert risk_coverage([]) == []


pairs = st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 1 / 3, 0.5, 5 / 6, 1.0])), min_size=1, max_size=60)


@given(pairs)
def test_every_point_is_what_counting_gives(given_pairs):
    for point in risk_coverage(given_pairs, thresholds=[0.0, 0.3, 0.5, 0.95, 1.0]):
        passed = [label for confidence, label in given_pairs if not confidence < point.threshold]
        wrong = sum(label < 0.5 for _, label in given_pairs)
        assert (point.passed_n, point.to_person_n) == (len(passed), len(given_pairs) - len(passed))
        assert (point.wrong_passed, point.wrong_caught + point.wrong_passed) == (
            sum(one < 0.5 for one in passed),
            wrong,
        )
        if passed:
            assert point.accuracy_of_passed == pytest.approx(sum(passed) / len(passed), abs=1e-9)
