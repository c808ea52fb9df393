"""Deadlines that passed are kept, closed escalations have an order, and runs that were paused before there were
escalations ask a person too.
"""

from django.db import migrations, models

BATCH = 500


def ask(apps, schema_editor):
    """One for each step that paused a run of this house. A run that came in with a history was paused elsewhere: nobody
    can carry it on from here.
    """
    Run = apps.get_model("runs", "Run")
    paused = Run.objects.filter(status="escalated", escalations=None).exclude(started_by__startswith="import of ")
    after = None
    while ids := list(_after(paused, after).order_by("id").values_list("id", flat=True)[:BATCH]):
        _ask(apps, ids)
        after = ids[-1]


def _after(runs, after):
    return runs.filter(id__gt=after) if after else runs


def _ask(apps, run_ids):
    Step, Escalation = apps.get_model("runs", "Step"), apps.get_model("runs", "Escalation")
    steps = Step.objects.filter(run_id__in=run_ids, status="escalated").select_related("run")
    steps = steps.only("id", "completed_at", "run__reason", "run__triggered_at")
    Escalation.objects.bulk_create(
        Escalation(
            step_id=step.id,
            run_id=step.run_id,
            reason=step.run.reason,
            opened_at=step.completed_at or step.run.triggered_at,
        )
        for step in steps
    )


class Migration(migrations.Migration):
    dependencies = [("runs", "0007_approvals")]
    operations = [
        migrations.AddField(
            model_name="escalation", name="overdue_since", field=models.DateTimeField(null=True)
        ),
        migrations.AddIndex(
            model_name="escalation",
            index=models.Index(
                condition=models.Q(("closed_at__isnull", False)),
                fields=["-closed_at", "-id"],
                name="escalation_closed",
            ),
        ),
        migrations.RunPython(ask, migrations.RunPython.noop),
    ]
