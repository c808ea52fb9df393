import itertools
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibration.binning import MILLION, bin_of, bins_of, edges, least_ppm, ppm_range, to_ppm

WIDTHS = ["0.1", "0.05", "0.2", "0.25", "0.5", "1", "0.125", "0.01", "0.001", "0.000001", "0.015625", "0.0078125"]


@pytest.mark.parametrize(
    ("confidence", "ppm"),
    [
        (0, 0),
        (1, 1_000_000),
        (-0.0, 0),
        (0.3, 300_000),
        (0.1 + 0.2, 300_000),  # 0.30000000000000004
        (1 - 0.9, 100_000),  # 0.09999999999999998
        (0.29, 290_000),  # 0.29 * 1e6 is 290000.0 but 0.29 * 1e5 is 28999.999999999996
        (0.57, 570_000),
        (0.8999999, 899_999),  # below 0.9, so in the bin below 0.9
        (0.9000001, 900_000),
        (1e-300, 0),
    ],
)
def test_confidence_in_parts_per_million(confidence, ppm):
    assert to_ppm(confidence) == ppm


@pytest.mark.parametrize("confidence", [float("nan"), float("inf"), -0.01, 1.01, True, "0.5", None])
def test_what_is_no_confidence_has_no_parts_per_million(confidence):
    with pytest.raises(ValueError, match="confidence"):
        to_ppm(confidence)


@pytest.mark.parametrize(
    ("confidence", "width", "index"),
    [
        (0.0, 0.1, 0),
        (0.0999, 0.1, 0),
        (0.3, 0.1, 3),
        (0.6, 0.1, 6),
        (0.7, 0.1, 7),
        (0.8999999, 0.1, 8),
        (0.9, 0.1, 9),
        (1.0, 0.1, 9),
        (0.15, 0.05, 3),
        (0.3, 0.05, 6),
        (0.35, 0.05, 7),
        (1.0, 1, 0),
        (0.125, 0.125, 1),
        (0.124999, 0.125, 0),
    ],
)
def test_the_bin_of_a_confidence(confidence, width, index):
    assert bin_of(to_ppm(confidence), width) == index


@pytest.mark.parametrize("width", [0.3, 0.15, 0.7, 0, -0.1, 2, 1.5, float("nan"), float("inf"), "ten", "", 1e-7])
def test_a_width_that_does_not_divide_1_is_refused(width):
    with pytest.raises(ValueError, match="bin_width"):
        bins_of(width)


def test_edges_are_the_closest_floats():
    assert [edges(index, 0.1) for index in (0, 3, 6, 9)] == [(0.0, 0.1), (0.3, 0.4), (0.6, 0.7), (0.9, 1.0)]


@given(st.integers(0, MILLION), st.sampled_from(WIDTHS))
@example(300_000, "0.1")
@example(MILLION, "0.1")
def test_every_confidence_is_in_exactly_the_bin_that_holds_it(ppm, width):
    index, exact, size = bin_of(ppm, width), Fraction(ppm, MILLION), Fraction(width)
    assert index * size <= exact
    assert exact < (index + 1) * size or exact == 1
    start, below = ppm_range(index, width)
    assert start <= ppm < below


@pytest.mark.parametrize("width", WIDTHS)
def test_the_bins_follow_each_other_without_gap_or_overlap(width):
    ranges = [ppm_range(index, width) for index in range(min(bins_of(width), 1000))]
    assert ranges[0][0] == 0
    assert all(one[1] == following[0] for one, following in itertools.pairwise(ranges))
    assert ppm_range(bins_of(width) - 1, width)[1] == MILLION + 1


@pytest.mark.parametrize(
    ("threshold", "ppm"), [(0.0, 0), (0.75, 750_000), (1 - 0.9, 100_000), (0.1234564, 123_457), (1.0, 1_000_000)]
)
def test_the_least_ppm_that_clears_a_threshold(threshold, ppm):
    """As the gate: what is at the threshold clears it, what is a hair below does not."""
    assert least_ppm(threshold) == ppm
