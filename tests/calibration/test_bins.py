import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration import binning
from calibration.bins import Sums, brier, ece, label_ppm, make_bins, sums_of, total
from calibration.intervals import wilson


def add(*pairs: tuple[float, float]) -> Sums:
    """The sums of (confidence, label) pairs, as marks on the step."""
    return total(sums_of(binning.to_ppm(confidence), label, "step_mark") for confidence, label in pairs)


def test_one_sample():
    # (0.9 - 0.5)² = 0.16
    assert sums_of(900_000, 0.5, "run_mark") == Sums(1, 500_000, 900_000, 160_000_000_000, 0, 0, 1)
    assert sums_of(0, 0.0, "failed_check") == Sums(1, 0, 0, 0, 0, 1, 0)


def test_nothing_adds_up_to_nothing():
    assert total([]) == Sums()


@pytest.mark.parametrize(("label", "ppm"), [(0.0, 0), (1.0, 1_000_000), (1 / 3, 333_333), (2 / 3, 666_667)])
def test_labels_in_ppm(label, ppm):
    assert label_ppm(label) == ppm


def test_a_tie_is_rounded_up():
    assert label_ppm(1 / 128) == 7813  # 7812.5


def test_all_bins_are_there_and_an_empty_one_knows_nothing():
    bins = make_bins({9: add((0.9, 1.0), (0.94, 0.0))}, bin_width=0.1, n_min=2)
    assert [(one.lo, one.hi) for one in bins] == [(index / 10, (index + 1) / 10) for index in range(10)]
    empty, full = bins[0], bins[9]
    assert (empty.n, empty.mean_label, empty.mean_confidence, empty.interval, empty.validated) == (
        0, None, None, None, False,
    )  # fmt: skip
    assert (full.n, full.mean_label, full.mean_confidence, full.validated) == (2, 0.5, pytest.approx(0.92), True)
    assert full.interval == wilson(0.5, 2)


def test_a_bin_is_validated_at_n_min_and_not_below():
    sums = {0: add((0.1, 1.0), (0.1, 1.0), (0.1, 0.0))}
    assert [make_bins(sums, bin_width=1.0, n_min=n)[0].validated for n in (2, 3, 4)] == [True, True, False]


def test_ece_is_the_gap_weighted_by_labels():
    # [0, 0.5): said 0.2 twice, right once: |0.5 - 0.2| = 0.3 of 2; [0.5, 1]: said 0.8, right: |1 - 0.8| = 0.2 of 1
    bins = make_bins({0: add((0.2, 1.0), (0.2, 0.0)), 1: add((0.8, 1.0))}, bin_width=0.5, n_min=1)
    assert ece(bins) == pytest.approx((2 * 0.3 + 1 * 0.2) / 3)


def test_over_and_under_in_different_bins_do_not_cancel_out_in_the_ece():
    bins = make_bins({0: add((0.3, 0.5)), 1: add((0.7, 0.5))}, bin_width=0.5, n_min=1)
    assert ece(bins) == pytest.approx(0.2)


def test_brier_is_the_mean_square():
    # (0.2 - 1)² + (0.2 - 0)² + (0.8 - 1)² = 0.64 + 0.04 + 0.04
    assert brier(add((0.2, 1.0), (0.2, 0.0), (0.8, 1.0))) == pytest.approx(0.24)


def test_without_a_label_there_is_neither():
    assert ece(make_bins({}, bin_width=0.1, n_min=20)) is None
    assert brier(Sums()) is None


def test_a_width_that_does_not_divide_1_is_refused():
    with pytest.raises(ValueError, match="must divide 1"):
        make_bins({}, bin_width=0.3, n_min=20)


pairs = st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))


@given(st.lists(pairs, min_size=1, max_size=40), st.randoms())
def test_the_order_of_adding_does_not_matter(samples, random):
    shuffled = samples[:]
    random.shuffle(shuffled)
    assert add(*shuffled) == add(*samples)


@given(st.lists(pairs, min_size=1, max_size=40))
def test_both_scores_are_in_0_1(samples):
    assert 0 <= brier(add(*samples)) <= 1
    by_bin = {}
    for confidence, label in samples:
        index = binning.bin_of(binning.to_ppm(confidence), 0.1)
        by_bin[index] = total([by_bin.get(index, Sums()), add((confidence, label))])
    assert 0 <= ece(make_bins(by_bin, bin_width=0.1, n_min=1)) <= 1
