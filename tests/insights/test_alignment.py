"""What two sequences share: landmarks first, then the shortest edit, never past the budget."""

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from insights import alignment
from insights.alignment import Budget, Match, matches


def shared(left, right, steps=1_000_000):
    return matches(left, right, Budget(steps))


def test_nothing_is_shared_with_nothing():
    assert shared("", "") == shared("abc", "") == shared("", "abc") == shared("abc", "xyz") == []


def test_equal_sequences_are_one_match():
    assert shared("abc", "abc") == [Match(0, 0, 3)]


def test_an_insertion_splits_the_match():
    assert shared("abcd", "abXcd") == [Match(0, 0, 2), Match(2, 3, 2)]


def test_a_landmark_holds_against_repeated_items():
    # M stands once on each side: it ties them, though the shortest edit would keep five commas instead.
    left, right = "M,,,,,", ",,,,,M"
    assert shared(left, right) == [Match(0, 5, 1)]


def test_without_landmarks_the_shortest_edit_is_found():
    # Both letters repeat on both sides. By hand: delete the a's at 0 and 4, keep b b a of abbaab, ...;
    # the longest common subsequence of abbaab and bababa has 4 letters (b a a b / b b a a).
    assert sum(match.length for match in shared("abbaab", "bababa")) == 4


def test_what_costs_too_much_counts_as_changed():
    left, right = "xababab", "xbabaab"
    assert shared(left, right, steps=0) == [Match(0, 0, 1), Match(5, 5, 2)]  # only the equal ends
    assert len(shared(left, right)) > 2


def test_looking_for_landmarks_costs_too():
    assert shared("xMy", "zMw") == [Match(1, 1, 1)]
    assert shared("xMy", "zMw", steps=5) == []


def test_a_stretch_of_too_many_edits_is_given_up():
    chaos = random.Random(7)
    left, right = chaos.choices("ab", k=3_000), chaos.choices("cd", k=3_000)
    assert shared(left, right, steps=10**9) == []
    assert alignment.SHORTEST_EDIT < 3_000


@given(
    st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30), st.integers(0, 500)
)
def test_matches_are_true_in_order_and_apart(left, right, steps):
    found = shared(left, right, steps)
    for i, j, length in found:
        assert length > 0
        assert left[i : i + length] == right[j : j + length]
    for one, other in pairwise(found):
        assert one.left + one.length <= other.left
        assert one.right + one.length <= other.right
        assert (one.left + one.length, one.right + one.length) != (other.left, other.right)


@given(
    st.lists(st.sampled_from("ab"), min_size=1, max_size=12), st.lists(st.sampled_from("ab"), min_size=1, max_size=12)
)
def test_without_landmarks_as_much_is_kept_as_can_be(left, right):
    """Doubled items are never landmarks, so the result is the longest common subsequence."""
    left, right = left * 2 + ["a", "b"] * 2, right * 2 + ["a", "b"] * 2
    assert sum(match.length for match in shared(left, right)) == longest_common(left, right)


def longest_common(left, right):
    row = [0] * (len(right) + 1)
    for mine in left:
        diagonal = 0
        for j, theirs in enumerate(right, 1):
            diagonal, row[j] = row[j], diagonal + 1 if mine == theirs else max(row[j], row[j - 1])
    return row[-1]
