import datetime as dt

import pytest

from insights import said_shown
from insights.recent import newest_samples
from runs.trust.vector import evaluate
from tests.factories import NOW
from tests.insights.history import answer, key

pytestmark = pytest.mark.django_db


def test_grounding_stands_where_the_report_is_read() -> None:
    report = evaluate(self_report=0.9, confidence_threshold=0.5, on_low_confidence="escalate").to_json()
    assert report["stages"][said_shown.GROUNDING]["stage"] == "grounding"


def compared(*steps: object) -> said_shown.Comparison:
    found = said_shown.compare(said_shown.answers_of([step.id for step in steps]))  # type: ignore[attr-defined]
    assert found is not None
    return found


def test_what_enforcing_would_have_changed() -> None:
    found = compared(
        answer(confidence=0.95, shown=0.5),  # capped at 50 %, below the threshold of 75 %, a gap of 45 points
        answer(confidence=0.95, shown=0.8),  # capped, and still clears
        answer(confidence=0.80, shown=0.9),  # nothing to cap
        answer(confidence=0.60, shown=0.5),  # capped; it did not clear anyway
        answer(confidence=0.95),  # never judged: not counted
    )
    assert (len(found.answers), found.shadow_n) == (4, 4)
    assert (found.capped.value, found.fallen.value, found.wide.value) == (0.75, 0.25, 0.25)
    assert found.mean_said == pytest.approx(3.3 / 4)
    assert found.mean_shown == pytest.approx(2.7 / 4)
    assert found.in_shadow_now


def test_evidence_for_as_much_as_was_said_caps_nothing_and_a_threshold_just_met_was_cleared() -> None:
    found = compared(
        answer(confidence=0.9, shown=0.9),
        answer(confidence=0.75, shown=0.5),  # .75 clears .75
        answer(confidence=0.9, shown=0.75),  # and so does what it would have been capped at
    )
    assert {(one.said, one.shown): (one.would_be_capped, one.would_fall) for one in found.answers} == {
        (0.9, 0.9): (False, False),
        (0.75, 0.5): (True, True),
        (0.9, 0.75): (True, False),
    }


def test_a_gap_of_exactly_20_points_is_wide() -> None:
    # In floating point 0.7 - 0.5 is 0.19999999999999996.
    assert compared(answer(confidence=0.7, shown=0.5)).wide.value == 1


def test_where_a_check_failed_grounding_would_not_have_decided() -> None:
    found = compared(answer(confidence=0.95, shown=0.5, check=False))
    assert (found.capped.value, found.fallen.value) == (1, 0)


def test_enforced_answers_are_not_counted_as_shadow() -> None:
    found = compared(
        answer(confidence=0.95, shown=0.5, at=NOW - dt.timedelta(hours=1)),
        answer(confidence=0.95, shown=0.5, enforce=True),
    )
    assert (found.shadow_n, found.capped.value, found.in_shadow_now) == (1, 1, False)


def test_nothing_judged_is_nothing_to_compare() -> None:
    assert said_shown.compare(said_shown.answers_of([answer().id])) is None


def test_running_means() -> None:
    assert said_shown.running_means([1, 0, 1, 0], window=2) == [1, 0.5, 0.5, 0.5]
    assert said_shown.running_means([]) == []


def test_the_newest_samples_come_from_all_buckets_and_no_replay() -> None:
    from calibration.buckets import bucket_id

    steps = [answer(key(prompt_hash=str(n % 2)), at=NOW + dt.timedelta(minutes=n), is_replay=n == 3) for n in range(5)]
    ids = [bucket_id(key(prompt_hash=text)) for text in ("0", "1")]
    assert newest_samples(ids, limit=3) == [steps[n].id for n in (4, 2, 1)]
    assert newest_samples(ids[:1], limit=10) == [steps[n].id for n in (4, 2, 0)]
    assert newest_samples([], limit=10) == []
