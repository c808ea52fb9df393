import pytest

from insights.measures import accuracy, share, success


def test_stopped_and_escalated_runs_count_as_success() -> None:
    # 6 + 1 + 2 of 6 + 1 + 2 + 3
    found = success({"completed": 6, "stopped": 1, "escalated": 2, "failed": 3})
    assert (found.n, found.value) == (12, 0.75)


def test_what_was_decided_against_or_has_not_ended_counts_neither_way() -> None:
    found = success({"completed": 1, "failed": 1, "aborted": 5, "cancelled": 7, "running": 3, "queued": 2})
    assert (found.n, found.value) == (2, 0.5)


def test_nothing_is_not_zero() -> None:
    assert success({"running": 4}) == share(0, 0)
    assert (share(0, 0).value, share(0, 0).interval) == (None, None)


def test_accuracy_is_the_mean_label() -> None:
    # right, partly right, wrong, right: (1 + 0.5 + 0 + 1) / 4
    assert accuracy(2.5, 4).value == 0.625


def test_labels_that_sum_to_a_hair_more_than_their_number() -> None:
    assert accuracy(3.0000000000000004, 3).value == 1.0


def test_the_interval_is_wilsons() -> None:
    # 31 of 50, by hand: centre (0.62 + 3.8415/100) / (1 + 3.8415/50) = 0.61146; spread 0.13040
    interval = share(31, 50).interval
    assert interval is not None
    assert interval.lo == pytest.approx(0.4815, abs=5e-4)
    assert interval.hi == pytest.approx(0.7414, abs=5e-4)
