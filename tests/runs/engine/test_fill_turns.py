"""What was decided and marked before turns were kept is in them after the migration, as if it had happened since."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection

from calibration.labels import mark_sample
from calibration.models import Sample, Turn
from runs.escalations import deciding
from runs.models import Escalation
from tests.pipelines import step
from tests.runs.engine.rows import NOW

pytestmark = pytest.mark.django_db(transaction=True)
fill = import_module("runs.migrations.0016_fill_turns").fill


def test_the_turns_of_before_are_those_of_since(pipelines):
    ann = User.objects.create(username="ann")
    said = deciding.Said(by="ann", reason="", now=NOW)
    pipelines.write("sure", step("act", says=0.9))
    pipelines.write("unsure", step("act", says=0.333333))
    for outcome in ("correct", "partial", "incorrect"):
        mark_sample(sample_id=pipelines.run("sure").steps.get().id, by=ann, outcome=outcome, via="api", now=NOW)
    pipelines.run("sure")  # nobody judged it
    for first in ("approve", "abort", "hand_on", "timeout"):
        escalation = Escalation.objects.get(run=pipelines.run("unsure"))
        if first == "hand_on":
            deciding.hand_on(escalation.id, said, to="second")
            deciding.approve(escalation.id, said)
        elif first == "timeout":
            deciding.abort(escalation.id, said, kind=deciding.Decision.Kind.TIMEOUT)
        else:
            getattr(deciding, first)(escalation.id, said)
    kept = sorted(Turn.objects.values_list())
    claims = dict(Sample.objects.values_list("id", "claimed_ppm"))
    assert sorted(row[3] for row in kept) == ["aborted", "aborted", "approved", "approved", "escalated", "revised"]
    Turn.objects.all().delete()
    Sample.objects.update(claimed_ppm=None)

    with connection.schema_editor() as editor:
        fill(apps, editor)
        fill(apps, editor)  # the second time changes nothing

    assert sorted(Turn.objects.values_list()) == kept
    assert dict(Sample.objects.values_list("id", "claimed_ppm")) == claims
