import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.intervals import wilson


def test_nothing_is_known_without_labels():
    assert wilson(0.0, 0) is None


def test_one_right_of_one():
    # z2 = 1.96^2 = 3.8416: lo = 1 / (1 + 3.8416) = 0.2065; hi = 1
    assert wilson(1.0, 1) == pytest.approx((0.2065, 1.0), abs=1e-4)


def test_none_right_of_ten():
    # hi = 3.8416 / (10 + 3.8416) = 0.27753
    assert wilson(0.0, 10) == pytest.approx((0.0, 0.27753), abs=1e-5)


def test_a_bound_that_is_certain_is_exact():
    assert {wilson(0.0, n).lo for n in range(1, 200)} == {0.0}
    assert {wilson(1.0, n).hi for n in range(1, 200)} == {1.0}


def test_half_right_of_ten():
    # centre .5; spread = z * sqrt(.25 / 10 + 3.8416 / 400) / (1 + .38416) = 1.96 * .18601 / 1.38416 = .26340
    assert wilson(0.5, 10) == pytest.approx((0.23660, 0.76340), abs=1e-5)


def test_thirty_one_of_fifty():
    # centre = (.62 + 3.8416/100) / (1 + 3.8416/50) = .658416 / 1.076832 = .611438
    # spread = 1.96 * sqrt(.62 * .38 / 50 + 3.8416/10000) / 1.076832 = 1.96 * .0713915 / 1.076832 = .129943
    assert wilson(0.62, 50) == pytest.approx((0.481495, 0.741381), abs=1e-4)


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, True, "0.5"])
def test_what_is_no_share_is_refused(share):
    with pytest.raises(ValueError, match="share"):
        wilson(share, 10)


def test_a_count_below_zero_is_refused():
    with pytest.raises(ValueError, match="n:"):
        wilson(0.5, -1)


@given(st.floats(0, 1), st.integers(1, 10**15))
def test_the_interval_holds_the_share_and_stays_in_0_1(share, n):
    lo, hi = wilson(share, n)
    assert 0 <= lo <= hi <= 1
    # To the last digits: with 10^15 labels the interval is as narrow as floating point.
    assert lo <= share + 1e-12
    assert hi >= share - 1e-12


@given(st.floats(0, 1), st.integers(1, 10**6))
def test_more_labels_never_widen_it(share, n):
    few, many = wilson(share, n), wilson(share, n * 4)
    assert many.hi - many.lo <= few.hi - few.lo


@given(st.floats(0, 1), st.integers(1, 10**6))
def test_right_and_wrong_are_mirror_images(share, n):
    wrong = 1 - share
    there, back = wilson(1 - wrong, n), wilson(wrong, n)
    assert (there.lo, there.hi) == pytest.approx((1 - back.hi, 1 - back.lo), abs=1e-9)
