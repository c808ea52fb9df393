import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.agreement import cohen_kappa, krippendorff_alpha

# Krippendorff's own example (2011, "Computing Krippendorff's Alpha-Reliability", C): four observers, twelve units.
A = [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None]
B = [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3]
C = [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None]
D = [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None]
EXAMPLE = [[value for value in unit if value is not None] for unit in zip(A, B, C, D, strict=True)]


def test_kappa_worked_by_hand():
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    # agree 35/50 = 0.7; by chance (25 x 30 + 25 x 20) / 2500 = 0.5; (0.7 - 0.5) / (1 - 0.5)
    assert cohen_kappa(pairs) == pytest.approx(0.4)


def test_kappa_of_full_agreement_of_none_and_of_chance():
    assert cohen_kappa([(1.0, 1.0), (0.0, 0.0)]) == 1.0
    assert cohen_kappa([(1.0, 0.0), (0.0, 1.0)]) == -1.0  # agree 0, by chance 1/2
    assert cohen_kappa([(1, 1), (1, 0), (0, 1), (0, 0)]) == 0.0


def test_kappa_says_nothing_without_pairs_or_when_only_one_value_was_ever_given():
    assert cohen_kappa([]) is None
    assert cohen_kappa([(1.0, 1.0)] * 30) is None


def test_one_marker_who_always_says_the_same_is_no_better_than_chance():
    assert cohen_kappa([(1, 1), (1, 0), (1, 1)]) == 0.0


def test_alpha_of_the_published_example():
    assert krippendorff_alpha(EXAMPLE) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(EXAMPLE, level="ordinal") == pytest.approx(0.815, abs=5e-4)


def test_alpha_worked_by_hand():
    # Units [1, 1], [1, 0], [0, 0]: six values, three of each; one unit in three differs, in both directions.
    # observed 2 of 6; expected (3 x 3 + 3 x 3) / (6 x 5) = 0.6; 1 - (1/3) / 0.6
    assert krippendorff_alpha([[1, 1], [1, 0], [0, 0]]) == pytest.approx(1 - (1 / 3) / 0.6)


def test_ordinal_alpha_worked_by_hand():
    # Units [0, 0], [0, .5], [1, 1]: n(0) = 3, n(.5) = 1, n(1) = 2.
    # distances: 0 to .5 (3 + 1 - 2)² = 4; .5 to 1 (1 + 2 - 1.5)² = 2.25; 0 to 1 (6 - 2.5)² = 12.25
    # observed 2 x 4 / 6; expected 2 x (3 x 4 + 2 x 2.25 + 6 x 12.25) / (6 x 5) = 180 / 30
    assert krippendorff_alpha([[0, 0], [0, 0.5], [1, 1]], level="ordinal") == pytest.approx(1 - (8 / 6) / 6)


def test_in_ordinal_alpha_correct_against_incorrect_is_worse_than_correct_against_partial():
    rest = [[1.0, 1.0], [0.5, 0.5], [0.0, 0.0]]
    near = krippendorff_alpha([*rest, [1.0, 0.5]], level="ordinal")
    far = krippendorff_alpha([*rest, [1.0, 0.0]], level="ordinal")
    assert far < near
    # Nominally both are one disagreement.
    nominal = [krippendorff_alpha([*rest, [1.0, other]]) for other in (0.5, 0.0)]
    assert nominal[0] == pytest.approx(nominal[1])


def test_things_marked_once_say_nothing():
    assert krippendorff_alpha([[1], [0], [1, 1], [0, 0], [1]]) == krippendorff_alpha([[1, 1], [0, 0]]) == 1.0
    assert krippendorff_alpha([[1], [0]]) is None


def test_alpha_says_nothing_without_values_or_when_all_are_the_same():
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([[1.0, 1.0], [1.0, 1.0, 1.0]]) is None


values = st.sampled_from([0.0, 0.5, 1.0])


@given(st.lists(st.lists(values, max_size=4), max_size=12), st.sampled_from(["nominal", "ordinal"]))
def test_alpha_is_at_most_1_and_is_1_only_where_all_agree(units, level):
    alpha = krippendorff_alpha(units, level=level)
    if alpha is not None:
        assert alpha <= 1
        assert (alpha == 1) == all(len(set(unit)) <= 1 for unit in units)
