"""Runs that were paused before there were escalations ask a person too; those paused elsewhere ask nobody."""

from importlib import import_module

import pytest
from django.apps import apps
from django.utils import timezone

from runs.engine import drive
from runs.engine.work import Work
from runs.escalations import deciding
from runs.models import Escalation
from tests import factories
from tests.pipelines import step

ask = import_module("runs.migrations.0008_escalations").ask

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_older_run_that_waits_is_asked_about_once_and_can_be_carried_on(pipelines):
    pipelines.write("p", step("act", says=0.5), step("tell"))
    run = pipelines.run("p")
    before = Escalation.objects.get()
    Escalation.objects.all().delete()

    for _ in range(2):  # the second time changes nothing
        ask(apps, None)

    opened = Escalation.objects.get()
    assert (opened.step_id, opened.run_id, opened.state) == (before.step_id, run.id, "open")
    assert opened.opened_at == run.steps.get().completed_at
    assert "50% falls short of this step's 75%" in opened.reason
    deciding.approve(opened.id, deciding.Said(by="ann", reason="fine", now=timezone.now()))
    drive.perform(Work("run", run.id))
    run.refresh_from_db()
    assert run.status == "completed"


def test_nobody_is_asked_about_what_was_escalated_elsewhere_or_has_ended():
    imported = factories.run(status="escalated", started_by="import of 7")
    cancelled = factories.run(status="cancelled")
    decided = factories.run(status="escalated")
    for run in (imported, cancelled, decided):
        factories.step(run, status="escalated")
    factories.escalation(factories.step(decided, "group/1", status="escalated"))

    ask(apps, None)

    assert Escalation.objects.count() == 1
