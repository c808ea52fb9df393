import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.differences import Record, difference


def test_newcombe_worked_by_hand():
    # 48 of 80 and 56 of 70, an example of Newcombe's paper of 1998, which gives 0.0524 to 0.3339 (its method 10).
    # Wilson: 0.6 in [0.490455, 0.700382], 0.8 in [0.691834, 0.876953]
    # down = sqrt(0.108166² + 0.100382²) = 0.147569; up = sqrt(0.076953² + 0.109545²) = 0.133873
    found = difference(Record(0.6, 80), Record(0.8, 70))
    assert found.value == pytest.approx(0.2)
    assert found.interval.lo == pytest.approx(0.2 - 0.147569, abs=2e-6)
    assert found.interval.hi == pytest.approx(0.2 + 0.133873, abs=2e-6)


def test_it_helped():
    found = difference(Record(0.6, 80), Record(0.8, 70))
    assert found.verdict == "helped"
    assert found.sentence == "It helped: 60% of 80 before, 80% of 70 after; 5 to 33 points more correct."


def test_it_hurt():
    found = difference(Record(0.8, 70), Record(0.6, 80))
    assert found.verdict == "hurt"
    assert found.sentence == "It hurt: 80% of 70 before, 60% of 80 after; 5 to 33 points fewer correct."


def test_no_clear_difference():
    found = difference(Record(0.7, 40), Record(0.75, 40))
    assert found.verdict == "unclear"
    assert found.sentence == (
        "No clear difference: 70% of 40 before, 75% of 40 after; anything from -14 to +24 points fits."
    )


@pytest.mark.parametrize(("before", "after"), [(19, 40), (40, 19), (3, 3)])
def test_too_few_marks_to_say(before, after):
    found = difference(Record(0.0, before), Record(1.0, after))
    assert found.verdict == "too few"
    assert found.sentence == f"Too few marks to say: {before} before and {after} after, of the 20 each side needs."
    assert found.interval is not None


def test_a_side_without_marks_has_no_number_at_all():
    found = difference(Record(None, 0), Record(1.0, 40))
    assert (found.value, found.interval, found.verdict) == (None, None, "too few")


def test_enough_is_enough():
    assert difference(Record(0.0, 5), Record(1.0, 5), enough=5).verdict == "helped"


sides = st.builds(Record, st.floats(0, 1), st.integers(1, 500))


@given(sides, sides)
def test_the_interval_holds_the_value_stays_in_range_and_turns_round_with_the_sides(before, after):
    found, turned = difference(before, after), difference(after, before)
    assert -1 <= found.interval.lo <= found.value + 1e-12
    assert found.value - 1e-12 <= found.interval.hi <= 1
    assert turned.interval.lo == pytest.approx(-found.interval.hi)
