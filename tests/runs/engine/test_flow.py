"""What comes next in a run, case by case."""

import pytest

from runs.engine.flow import Begin, End, Wait, next_of

NAMES = ["look", "judge", "act"]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ({}, Begin(0)),
        ({"look": "pending"}, Wait(0)),
        ({"look": "running"}, Wait(0)),
        ({"look": "judging"}, Wait(0)),
        ({"look": "completed"}, Begin(1)),
        ({"look": "skipped"}, Begin(1)),
        ({"look": "completed", "judge": "running"}, Wait(1)),
        ({"look": "stopped"}, End("stopped", 0)),
        ({"look": "completed", "judge": "escalated"}, End("escalated", 1)),
        ({"look": "completed", "judge": "aborted"}, End("aborted", 1)),
        ({"look": "failed"}, End("failed", 0)),
        ({"look": "completed", "judge": "completed", "act": "completed"}, End("completed")),
        ({"look": "completed", "judge": "skipped", "act": "skipped"}, End("completed")),
    ],
)
def test_next(statuses, expected):
    assert next_of(NAMES, statuses, frozenset()) == expected


def test_a_failure_that_may_be_passed_over_lets_the_run_go_on():
    assert next_of(NAMES, {"look": "failed"}, frozenset({"look"})) == Begin(1)


def test_only_the_named_steps_failure_is_passed_over():
    assert next_of(NAMES, {"look": "completed", "judge": "failed"}, frozenset({"look"})) == End("failed", 1)


def test_a_run_whose_last_step_failed_and_may_be_passed_over_completes():
    statuses = {"look": "completed", "judge": "completed", "act": "failed"}
    assert next_of(NAMES, statuses, frozenset({"act"})) == End("completed")


def test_a_pipeline_without_steps_completes():
    assert next_of([], {}, frozenset()) == End("completed")
