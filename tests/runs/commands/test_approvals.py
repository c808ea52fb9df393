import io
import uuid
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from runs.models import Approval
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def say(*arguments):
    out = io.StringIO()
    call_command("approvals", *arguments, stdout=out)
    return out.getvalue()


def waiting(hours=0, **fields):
    run = factories.run(status="running", now=NOW - timedelta(hours=hours))
    return factories.approval(factories.step(run, "ask", status="pending", awaited=1), **fields)


def test_what_waits_is_listed_longest_first():
    young, old = waiting(1, to="desk", message="Restart\nit?"), waiting(3, kind="check", name="sign-off")
    assert [line.split()[0] for line in say("list").splitlines()] == [str(old.id), str(young.id)]
    assert say("list", "--to", "desk") == (
        f"{young.id}  ask of checkout-error-rate, for desk, since {NOW:%Y-%m-%d} 13:32: Restart it?\n"
    )
    assert "  sign-off of ask of checkout-error-rate, for anybody," in say("list", "--step", "ask")
    assert say("list", "--team", "nobody") == "Nobody is asked anything.\n"


def test_an_answer_is_recorded_with_who_and_why():
    one, other = waiting(), waiting()
    assert say("reject", str(one.id), "--reason", "no", "--by", "ann") == "Rejected.\n"
    assert say("approve", str(other.id)) == "Approved.\n"
    rows = Approval.objects.order_by("id").values_list("state", "closed_by", "reason")
    assert sorted(rows) == [("approved", "the command line", ""), ("rejected", "ann", "no")]


def test_what_cannot_be_done_is_told():
    with pytest.raises(CommandError, match="There is no approval"):
        say("approve", str(uuid.UUID(int=1)))
    with pytest.raises(CommandError, match="--reason"):
        say("reject", str(waiting().id))
    with pytest.raises(CommandError, match="A reason is needed"):
        say("reject", str(waiting().id), "--reason", " ")
    with pytest.raises(CommandError, match="already approved by ann"):
        say("approve", str(waiting(answered="approved").id))
