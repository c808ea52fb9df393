import io
import json
import sys
import uuid
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from runs.escalations import listing
from runs.models import Decision, Escalation
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def say(*arguments):
    out = io.StringIO()
    call_command("escalations", *arguments, stdout=out)
    return out.getvalue()


def waiting(hours=0, **fields):
    run = factories.run(status="escalated", now=NOW - timedelta(hours=hours))
    return factories.escalation(factories.step(run, "act", status="escalated"), **fields)


def test_what_waits_is_listed_longest_first(monkeypatch):
    monkeypatch.setattr(listing, "WINDOW", 2)
    young, old = waiting(1, to="desk"), waiting(3, overdue_since=NOW)
    assert [line.split()[0] for line in say("list").splitlines()] == [str(old.id), str(young.id)]
    assert say("list", "--to", "desk") == (
        f"{young.id}  act of checkout-error-rate, for desk, since {NOW:%Y-%m-%d} 13:32: 50% falls short of 75%.\n"
    )
    assert f", for anybody, since {NOW:%Y-%m-%d} 11:32, overdue:" in say("list", "--overdue")
    assert say("list", "--team", "nobody") == "Nothing waits for a decision.\n"


def test_a_decision_says_what_became_of_the_run():
    one = waiting()
    assert say("decide", str(one.id), "abort", "--reason", "no", "--by", "ann") == "Aborted. The run is aborted.\n"
    assert (Decision.objects.get().by, Decision.objects.get().reason) == ("ann", "no")


def test_a_revision_comes_from_a_file_or_standard_input(tmp_path, monkeypatch):
    answer = {"confidence": 0.5, "summary": "the router", "next_step_context": ""}
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    first, second = waiting(), waiting()
    say("decide", str(first.id), "revise", "--reason", "r", "--output", str(tmp_path / "answer.json"))
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(answer)))
    say("decide", str(second.id), "revise", "--reason", "r", "--output", "-")
    for one in Escalation.objects.select_related("step"):
        assert (one.state, one.step.revised_output) == ("revised", answer)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["approve", "--reason", " "], "A reason is needed."),
        (["escalate", "--reason", "r"], "needed to escalate"),
        (["revise", "--reason", "r"], "needed to revise"),
        (["revise", "--reason", "r", "--output", "nothing.json"], "Cannot read nothing.json"),
        (["revise", "--reason", "r", "--output", "README.md"], "README.md holds no JSON"),
        (["revise", "--reason", "r", "--output", "{}"], "Cannot read"),
    ],
)
def test_what_cannot_be_done_is_told(arguments, problem):
    one = waiting()
    with pytest.raises(CommandError, match=problem):
        say("decide", str(one.id), *arguments)
    assert not Decision.objects.exists()


def test_an_unknown_or_closed_one_is_told():
    with pytest.raises(CommandError, match="There is no escalation"):
        say("decide", str(uuid.UUID(int=1)), "abort", "--reason", "r")
    closed = waiting(decided="approve")
    with pytest.raises(CommandError, match="already approved by ann"):
        say("decide", str(closed.id), "abort", "--reason", "r")
