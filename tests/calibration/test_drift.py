"""The drift of an agent and what it does to a threshold, with values worked out by hand."""

import pytest

from calibration.drift import Record, biased, meaning


def record(kept, n, claimed):
    return Record(n=n, kept=kept, claimed_ppm=claimed)


def test_people_keep_less_than_it_claims():
    # 8 of 10 kept is 80 %; claimed 95 %: drift -15 points, beyond 10, so 75 % becomes 90 %.
    off = record(8, 10, 950_000)

    assert (off.observed_ppm, off.drift_ppm) == (800_000, -150_000)
    assert meaning(off, least=5, band=0.10) == "overconfident"
    assert biased(0.75, off, least=5, band=0.10, allow_lower=False) == 0.90


def test_a_threshold_never_passes_one():
    # 0 of 5 kept, claimed 100 %: drift -100 points.
    assert biased(0.75, record(0, 5, 1_000_000), least=5, band=0.1, allow_lower=False) == 1.0


def test_positive_drift_lowers_only_on_request():
    # 10 of 10 kept, claimed 60 %: drift +40 points; 75 % less 40 is 35 %, 30 % less 40 is 0.
    shy = record(10, 10, 600_000)

    assert meaning(shy, least=5, band=0.1) == "underconfident"
    assert biased(0.75, shy, least=5, band=0.1, allow_lower=False) == 0.75
    assert biased(0.75, shy, least=5, band=0.1, allow_lower=True) == 0.35
    assert biased(0.30, shy, least=5, band=0.1, allow_lower=True) == 0.0


@pytest.mark.parametrize(
    ("kept", "claimed", "told"),
    [
        (8, 900_000, "noise"),  # -10 points exactly: still within the band
        (8, 900_001, "overconfident"),
        (8, 700_000, "noise"),
        (8, 699_999, "underconfident"),
    ],
)
def test_the_band_holds_its_edges(kept, claimed, told):
    assert meaning(record(kept, 10, claimed), least=5, band=0.1) == told


def test_too_few_turns_say_nothing():
    assert meaning(record(0, 4, 950_000), least=5, band=0.1) == "too_few"
    assert biased(0.75, record(0, 4, 950_000), least=5, band=0.1, allow_lower=True) == 0.75


def test_without_any_turn_there_is_no_share():
    nothing = record(0, 0, None)

    assert (nothing.observed_ppm, nothing.drift_ppm) == (None, None)
    assert meaning(nothing, least=1, band=0.0) == "too_few"
    assert biased(0.75, nothing, least=1, band=0.0, allow_lower=True) == 0.75


def test_a_third_is_rounded_to_a_whole_part_per_million():
    assert record(1, 3, 0).observed_ppm == 333_333
    assert record(2, 3, 0).observed_ppm == 666_667
