"""Percentages that are told apart only where the difference matters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.trust.percent import Percents, edge
from tests.runs.trust.strategies import units


@given(st.lists(units, min_size=1, max_size=8))
def test_different_numbers_never_look_the_same(values):
    write = Percents(values)
    texts = {value: write(value) for value in values}
    assert len(set(texts.values())) == len(set(values))
    for value, text in texts.items():
        assert (text == "0%") == (value == 0)
        assert (text == "100%") == (value == 1)
        # Half of a rounded percent, and the noise of the division itself.
        assert float(text.removesuffix("%")) / 100 == pytest.approx(value, abs=0.005 + 1e-9)


@pytest.mark.parametrize(
    ("value", "others", "text"),
    [
        (0.62, [0.95], "62%"),
        (19 / 31, [], "61%"),
        (0.625, [], "63%"),  # half up, as people round
        (0.7496, [0.75], "74.96%"),
        (0.745, [0.75], "74.5%"),
        (0.996, [], "99.6%"),
        (0.9999, [], "99.99%"),
        (0.004, [], "0.4%"),
        (1e-300, [], "1e-298%"),
        (0.0, [0.5], "0%"),
    ],
)
def test_decimals_only_where_the_difference_matters(value, others, text):
    assert Percents([value, *others])(value) == text


def test_the_edges_of_a_bin_are_exact():
    assert [edge(value) for value in (0.0, 0.125, 0.3, 0.9, 1.0)] == ["0", "12.5", "30", "90", "100"]
