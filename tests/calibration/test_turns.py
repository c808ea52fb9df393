"""What marks and decisions make of an agent's claims."""

import uuid
from datetime import timedelta

import pytest

from calibration import labels, turns
from calibration.models import Turn, TurnOutcome
from calibration.removing import remove_groups
from tests.at_once import at_once
from tests.calibration.factories import NOW, key, person, record

pytestmark = pytest.mark.django_db

AGENT = "command:triage"


def claim(says=0.95, **given):
    return record(key(), given.pop("confidence", says), claimed=says, **given)


def mark(sample, outcome, by=None):
    return labels.mark_sample(sample_id=sample, by=by or person(), outcome=outcome, via="api", now=NOW)


def outcomes():
    return dict(Turn.objects.values_list("id", "outcome"))


@pytest.mark.parametrize(
    ("marked", "outcome"), [("correct", "approved"), ("partial", "revised"), ("incorrect", "aborted")]
)
def test_a_mark_gives_the_turn_its_outcome(marked, outcome):
    sample = claim()
    assert outcomes() == {}  # pending

    mark(sample, marked)

    assert outcomes() == {sample: outcome}


def test_it_claims_what_the_agent_said_and_not_what_the_verifier_left():
    mark(claim(0.95, confidence=0.6), "correct")

    assert Turn.objects.get().claimed_ppm == 950_000


def test_the_newest_mark_and_the_mean_of_several_markers_count():
    ann, sample = person("ann"), claim()
    mark(sample, "correct", by=ann)
    mark(sample, "incorrect", by=ann)
    assert outcomes() == {sample: "aborted"}

    mark(sample, "correct", by=person("bob"))  # 0 and 1: neither right nor wrong
    assert outcomes() == {sample: "revised"}


def test_an_undone_mark_leaves_the_turn_pending():
    ann, sample = person("ann"), claim()
    made = mark(sample, "incorrect", by=ann)

    labels.undo_mark(mark_id=made.pk, by=ann, now=NOW)

    assert outcomes() == {}


def test_the_first_decision_counts_whatever_is_marked():
    ann, sample = person("ann"), claim()
    turns.decide(sample, TurnOutcome.ESCALATED)
    turns.decide(sample, TurnOutcome.APPROVED)
    made = mark(sample, "correct", by=ann)
    assert outcomes() == {sample: "escalated"}

    labels.undo_mark(mark_id=made.pk, by=ann, now=NOW)
    assert outcomes() == {sample: "escalated"}


def test_a_decision_after_a_mark_takes_its_place():
    sample = claim()
    mark(sample, "incorrect")

    turns.decide(sample, TurnOutcome.REVISED)

    assert outcomes() == {sample: "revised"}


def test_replays_unknown_claims_run_marks_and_failed_checks_make_no_turn():
    group = uuid.uuid4()
    mark(claim(is_replay=True), "correct")
    mark(record(key()), "correct")  # imported without what the agent said
    claim(check_failed=True)
    claim(group=group)
    labels.mark_group(group=group, by=person(), outcome="correct", via="api", now=NOW)
    turns.decide(uuid.uuid4(), TurnOutcome.APPROVED)  # a step without a sample

    assert outcomes() == {}


def test_the_record_is_of_the_last_answers_by_their_own_time():
    # 12 answers, the two oldest wrong: of the last ten, 8 kept. Marked in any order.
    made = [claim(0.9 if n else 1.0, observed_at=NOW - timedelta(hours=n)) for n in range(12)]
    for place in (11, 0, 5, 3, 1, 2, 4, 6, 7, 8, 9, 10):
        mark(made[place], "incorrect" if place in (2, 4, 10, 11) else "partial" if place == 7 else "correct")

    found = turns.record(AGENT)

    # Nine claims of 90 % and one of 100 % are 91 % in the mean.
    assert (found.n, found.kept, found.claimed_ppm) == (10, 8, 910_000)
    assert (turns.record(AGENT, 1).n, turns.record(AGENT, 1).claimed_ppm) == (1, 1_000_000)
    assert turns.record("command:other").claimed_ppm is None
    assert [turn.id for turn in turns.latest(AGENT, 2)] == made[:2]
    assert turns.record_of(turns.latest(AGENT)) == found
    assert turns.record_of([]) == turns.record("command:other")


def test_many_marked_at_once_and_removed_with_the_demo():
    group = uuid.uuid4()
    made = [claim(group=group) for _ in range(450)]
    labels.mark_samples(sample_ids=made, by=person(), outcome="partial", via="bulk", now=NOW)
    assert set(outcomes().values()) == {"revised"}
    assert len(outcomes()) == 450

    remove_groups([group])
    assert outcomes() == {}


def test_a_mark_costs_one_statement_more_and_the_record_one(django_assert_num_queries):
    mark(claim(), "correct")
    with django_assert_num_queries(1):
        turns.record(AGENT)


@pytest.mark.django_db(transaction=True)
def test_a_decision_and_a_mark_at_once_leave_the_decision():
    for _ in range(5):
        sample, ann = claim(), person()
        at_once(
            lambda sample=sample: turns.decide(sample, TurnOutcome.ABORTED),
            lambda sample=sample, ann=ann: mark(sample, "correct", by=ann),
        )
        assert outcomes()[sample] == "aborted"
