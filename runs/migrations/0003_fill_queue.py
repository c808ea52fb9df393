"""Steps that were finished before there was a marking queue enter it too."""

from django.db import migrations

from runs.marking.chance import place

BATCH = 1000


def fill(apps, schema_editor):
    Sample = apps.get_model("calibration", "Sample")
    unmarked = Sample.objects.exclude(marks__is_current=True).order_by("id")
    after = None
    while samples := list((unmarked.filter(pk__gt=after) if after else unmarked)[:BATCH]):
        _enter(apps, samples)
        after = samples[-1].pk


def _enter(apps, samples):
    Step, QueueItem = apps.get_model("runs", "Step"), apps.get_model("runs", "QueueItem")
    steps = Step.objects.select_related("run").only("name", "agent", "run__pipeline_name", "run__team", "run__stage")
    steps = steps.in_bulk([sample.pk for sample in samples])
    items = [_item(QueueItem, steps[sample.pk], sample) for sample in samples if sample.pk in steps]
    QueueItem.objects.bulk_create(items, ignore_conflicts=True)


def _item(QueueItem, step, sample):
    return QueueItem(
        step_id=step.pk,
        run_id=step.run_id,
        pipeline=step.run.pipeline_name,
        name=step.name,
        group=step.name.partition("/")[0],
        agent=step.agent,
        team=step.run.team,
        stage=step.run.stage,
        label_source=sample.label_source,
        is_replay=sample.is_replay,
        bucket_id=sample.bucket_id,
        confidence_ppm=sample.confidence_ppm,
        finished_at=sample.observed_at,
        shuffle=place(step.pk),
    )


class Migration(migrations.Migration):
    dependencies = [("runs", "0002_marking"), ("calibration", "0002_marking")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
