"""Amounts as pages write them."""

import pytest

from runs.views.wording import cost, dollars


@pytest.mark.parametrize(
    ("nanos", "written"),
    [
        (0, "0 $"),
        (1, "0.000000001 $"),
        (4_200_000, "0.0042 $"),
        (10_000_000, "0.01 $"),
        (12_400_000_000, "12.40 $"),
        (7_000_000_000, "7.00 $"),
        (1_234_567_890_000_000, "1,234,567.89 $"),
    ],
)
def test_dollars(nanos, written):
    assert dollars(nanos) == written


def test_a_sum_says_what_it_leaves_out():
    assert cost(12_400_000_000, 0) == "12.40 $"
    assert cost(12_400_000_000, 3) == "12.40 $, 3 unpriced"
    assert cost(0, 1200) == "1,200 unpriced"
