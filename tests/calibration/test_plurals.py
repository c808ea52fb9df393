import pytest

from calibration.plurals import plural


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1_000, "1,000 runs"), (1_000_001, "1,000,001 runs")],
)
def test_a_noun_takes_an_s_for_every_number_but_one(count: int, told: str) -> None:
    assert plural(count, "run") == told


def test_words_that_an_s_does_not_make_plural_are_named() -> None:
    assert [plural(count, "run is", "runs are") for count in (0, 1, 2)] == ["0 runs are", "1 run is", "2 runs are"]
