"""What each decision would do, as it is told before it is made."""

import pytest

from runs.escalations.consequences import consequences, silence
from runs.models import Escalation
from tests import factories

pytestmark = pytest.mark.django_db
GROUP = {"parallel": {"name": "both", "steps": [factories.step_config("a"), factories.step_config("b")]}}


def told(run, step, **options):
    return consequences(factories.escalation(step), run, **options)


def run_of(*steps):
    return factories.run(status="escalated", version=factories.version("p", steps=list(steps)))


@pytest.mark.parametrize(
    ("following", "expected"),
    [
        ([factories.step_config("refund")], "Then step refund runs."),
        ([factories.step_config("refund", when="true")], "Then step refund runs, if its condition holds."),
        ([GROUP], "Then step both runs."),
        ([], "It was the last step, so the run is completed."),
    ],
)
def test_a_step_leads_to_the_next(following, expected):
    run = run_of(factories.step_config("act"), *following)
    found = told(run, factories.step(run, "act", status="escalated"))
    assert found.approve == expected
    assert found.revise == f"Your version stands in the place of the answer. {expected}"
    assert found.abort == "The run ends as aborted. Nothing after this step is started."


def test_an_answer_that_wants_to_stop_stops_the_run():
    run = run_of(factories.step_config("act"), factories.step_config("refund"))
    found = told(run, factories.step(run, "act", status="escalated"), proceed=False)
    assert found.approve == "The run ends as stopped, since the answer says that there is nothing more to do."
    assert found.revise.endswith("nothing more to do, unless your version sets proceed to true.")


def test_a_group_has_no_answer_to_revise():
    run = run_of(GROUP)
    assert told(run, factories.step(run, "both", status="escalated", executor="parallel")).revise == ""


@pytest.mark.parametrize(
    ("working", "waiting", "once", "aborts"),
    [
        (0, 0, " at once", ""),
        (1, 0, " once another branch of it has ended", " once another branch of it has ended"),
        (2, 0, " once 2 other branches of it have ended", " once 2 other branches of it have ended"),
        (0, 1, " once another branch of it is decided on too", ""),
        (
            3,
            2,
            " once 3 other branches of it have ended and 2 other branches of it are decided on too",
            " once 3 other branches of it have ended",
        ),
    ],
)
def test_a_branch_waits_for_its_siblings(working, waiting, once, aborts):
    run = run_of(GROUP)
    factories.step(run, "fan", status="running")
    for number in range(working):
        factories.step(run, f"fan/{number}", status="judging", branch=number)
    for number in range(waiting):
        factories.escalation(factories.step(run, f"fan/w{number}", status="escalated", branch=10 + number))
    found = told(run, factories.step(run, "fan/me", status="escalated", branch=20))
    assert found.approve == (f"The group fan is joined again{once}, and its own threshold decides how the run goes on.")
    assert found.abort == f"The run ends as aborted{aborts}."


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "There is no deadline"),
        ({"due_at": factories.NOW, "on_timeout": "abort"}, "If nobody decides by then, the run is aborted."),
        ({"due_at": factories.NOW, "on_timeout": "keep"}, "that is noted and it keeps waiting"),
        ({"overdue_since": factories.NOW, "on_timeout": "keep"}, "The deadline has passed"),
    ],
)
def test_silence_is_never_approval(fields, expected):
    assert silence(Escalation(**fields)).startswith(expected) or expected in silence(Escalation(**fields))
