"""Escalation with tiers: the first line puts the cause right, the leads are asked about the action."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from runs.engine import drive
from runs.engine.work import Work
from runs.escalations import deciding, overdue
from runs.escalations.deciding import Said
from runs.models import Escalation, Run
from tests.examples.play import payload, play, steps

pytestmark = pytest.mark.django_db(transaction=True)


def waiting(run: Run) -> Escalation:
    return Escalation.objects.get(run=run, state="open")


def with_the_leads() -> Run:
    """The first line has named a cause that the runbook knows."""
    run = play(payload("escalation-tiers"))
    first = waiting(run)
    assert (first.step.name, first.to, first.due_at) == (
        "triage",
        "first line",
        first.opened_at + timedelta(minutes=15),
    )
    answer: dict[str, Any] = first.step.parsed_output or {}
    known = {**answer, "summary": "The acquirer is slow.", "next_step_context": "Cause: upstream\nSuspect: northbank"}
    deciding.revise(first.id, Said(by="ada", reason="their status page says so", now=timezone.now()), output=known)
    drive.perform(Work("run", run.id))
    run.refresh_from_db()
    return run


def test_what_the_first_line_says_is_what_the_plan_is_made_from() -> None:
    run = with_the_leads()
    plan = steps(run)["plan"]
    assert plan.parsed_output is not None
    assert plan.parsed_output["suspect"] == "northbank"
    assert (run.status, waiting(run).to) == ("escalated", "leads")


def test_the_leads_can_hand_it_on_and_whoever_has_it_lets_it_pass() -> None:
    run = with_the_leads()
    asked = waiting(run)
    now = asked.opened_at + timedelta(minutes=50)
    deciding.hand_on(asked.id, Said(by="lea", reason="not our acquirer", now=now), to="payments")
    overdue.settle(now=asked.opened_at + timedelta(minutes=61))  # the new group has an hour of its own
    deciding.approve(asked.id, Said(by="pat", reason="we know it", now=now))
    drive.perform(Work("run", run.id))
    run.refresh_from_db()
    assert run.status == "completed"


def test_when_the_leads_are_silent_nothing_is_done() -> None:
    run = with_the_leads()
    overdue.settle(now=waiting(run).opened_at + timedelta(hours=1))
    run.refresh_from_db()
    assert (run.status, steps(run)["plan"].status) == ("aborted", "aborted")
