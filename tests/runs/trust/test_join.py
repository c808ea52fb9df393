"""The join of a group: numbers worked out by hand."""

import pytest

from runs.trust import join
from runs.trust.join import Branch


def _of(*branches, how="all_must_pass", threshold=0.75, low="escalate"):
    return join.evaluate(branches, join=how, confidence_threshold=threshold, on_low_confidence=low)


def _branch(number, trust, status="completed", **fields):
    return Branch(f"g/{number}", status, trust, **fields)


@pytest.mark.parametrize(
    ("how", "trust", "outcome"),
    [("all_must_pass", 0.6, "escalated"), ("any_must_pass", 0.9, "completed"), ("weighted_average", 0.75, "completed")],
)
def test_joins_of_two(how, trust, outcome):
    joined = _of(_branch(0, 0.9), _branch(1, 0.6), how=how)

    assert (joined.trust, joined.outcome) == (trust, outcome)


def test_an_average_is_exact_where_the_threshold_was_written_in_decimals():
    """0.1 * 3 + 0.8 = 1.1 over 4 is 0.275; in floating point (0.1 + 0.1 + 0.1 + 0.8) / 4 is 0.27500000000000002."""
    joined = _of(*(_branch(n, 0.1) for n in range(3)), _branch(3, 0.8), how="weighted_average", threshold=0.275)

    assert (joined.trust, joined.outcome) == (0.275, "completed")


def test_weights_count_in_the_average():
    joined = _of(_branch(0, 0.9, weight=3.0), _branch(1, 0.5), how="weighted_average")

    assert joined.trust == 0.8  # (2.7 + 0.5) / 4


@pytest.mark.parametrize(
    ("how", "trust", "outcome"),
    [("all_must_pass", 0.9, "failed"), ("any_must_pass", 0.9, "completed"), ("weighted_average", 0.45, "escalated")],
)
def test_a_failed_branch(how, trust, outcome):
    joined = _of(_branch(0, 0.9), _branch(1, None, "failed"), how=how)

    assert (joined.trust, joined.outcome) == (trust, outcome)


def test_any_must_pass_fails_when_all_failed():
    joined = _of(_branch(0, None, "failed"), _branch(1, None, "failed"), how="any_must_pass")

    assert (joined.trust, joined.outcome, joined.reason) == (None, "failed", "g/0, g/1 failed.")


@pytest.mark.parametrize(
    ("how", "trust", "outcome"),
    [("all_must_pass", 0.0, "escalated"), ("any_must_pass", 0.9, "completed"), ("weighted_average", 0.0, "escalated")],
)
def test_a_failed_check_is_not_averaged_over(how, trust, outcome):
    joined = _of(_branch(0, 0.9), _branch(1, 0.0, blocked=True), how=how)

    assert (joined.trust, joined.outcome) == (trust, outcome)


@pytest.mark.parametrize("how", ["all_must_pass", "any_must_pass", "weighted_average"])
def test_a_group_of_blocked_branches_clears_no_threshold(how):
    joined = _of(_branch(0, 0.0, blocked=True), how=how, threshold=0.0)

    assert (joined.trust, joined.outcome) == (0.0, "escalated")


@pytest.mark.parametrize(
    ("low", "outcome"), [("escalate", "escalated"), ("abort", "aborted"), ("proceed", "completed")]
)
def test_what_a_low_group_does(low, outcome):
    assert _of(_branch(0, 0.7), low=low).outcome == outcome


def test_a_forgiven_failure_is_left_out():
    joined = _of(_branch(0, 0.8), _branch(1, None, "failed", forgiven=True))

    assert (joined.trust, joined.outcome) == (0.8, "completed")


def test_a_skipped_branch_is_left_out_and_all_skipped_skip_the_group():
    assert _of(_branch(0, 0.8), _branch(1, None, "skipped")).trust == 0.8
    assert _of(_branch(0, None, "skipped")).outcome == "skipped"


def test_branches_without_a_number_pass():
    joined = _of(_branch(0, None), _branch(1, None))

    assert (joined.trust, joined.outcome) == (None, "completed")


def test_a_branch_that_waits_for_a_person_makes_the_group_wait():
    joined = _of(_branch(0, 0.9), _branch(1, 0.2, "escalated"), threshold=0.1)

    assert (joined.outcome, joined.reason) == ("escalated", "g/1 waits for a person.")


def test_nobody_is_asked_about_a_group_that_failed_or_aborted():
    waiting = _branch(1, 0.2, "escalated")

    assert _of(_branch(0, None, "failed"), waiting).outcome == "failed"
    assert _of(_branch(0, 0.1, "aborted"), waiting, how="any_must_pass").outcome == "aborted"


def test_the_group_stops_only_when_every_branch_did():
    assert _of(_branch(0, 0.9, "stopped"), _branch(1, 0.9)).outcome == "completed"
    assert _of(_branch(0, 0.9, "stopped"), _branch(1, 0.9, "stopped")).outcome == "stopped"
    assert _of(_branch(0, 0.9, "stopped"), _branch(1, None, "skipped")).outcome == "stopped"


def test_a_low_group_does_not_just_stop():
    assert _of(_branch(0, 0.3, "stopped")).outcome == "escalated"


def test_a_long_list_of_names_is_cut():
    joined = _of(*(_branch(n, None, "failed") for n in range(5)))

    assert joined.reason == "g/0, g/1, g/2 and 2 more failed."


def test_a_report_can_be_recomputed():
    report = _of(_branch(0, 0.9), _branch(1, 0.6, weight=2.0), how="weighted_average").to_json()

    assert join.recompute(report).to_json() == report
    with pytest.raises(ValueError, match="not a report of a join"):
        join.recompute({"version": 1})


def test_a_branch_that_a_person_let_pass_does_not_hold_the_group_back_again():
    accepted = _branch(1, 0.0, blocked=True, accepted=True)

    assert (_of(_branch(0, 0.9), accepted).trust, _of(_branch(0, 0.9), accepted).outcome) == (0.9, "completed")
    assert (_of(accepted).trust, _of(accepted).outcome) == (None, "completed")
