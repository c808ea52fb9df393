"""What was finished before the queue existed is in it after the migration, once, and marked steps are not."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User

from calibration.labels import mark_sample
from runs.models import QueueItem
from tests.pipelines import step
from tests.runs.engine.rows import NOW

fill = import_module("runs.migrations.0003_fill_queue").fill


@pytest.mark.django_db
def test_steps_of_before_enter_the_queue_unless_somebody_marked_them(pipelines):
    pipelines.write("two", step("first"), step("second"))
    runs = [pipelines.run("two") for _ in range(3)]
    marked = runs[0].steps.get(name="first")
    mark_sample(sample_id=marked.id, by=User.objects.create(username="ada"), outcome="correct", via="api", now=NOW)
    by_engine = {item.pk: item for item in QueueItem.objects.all()}
    QueueItem.objects.all().delete()
    for _ in range(2):  # the second time changes nothing
        fill(apps, None)
    filled = {item.pk: item for item in QueueItem.objects.all()}
    assert set(filled) == set(by_engine) - {marked.id}
    assert len(filled) == 5
    for pk, item in filled.items():
        for field in QueueItem._meta.concrete_fields:
            assert getattr(item, field.attname) == getattr(by_engine[pk], field.attname)
