"""What steps cost, and what runs and teams took. Steps from before there were prices have no known cost."""

from django.db import migrations, models

# The same on both databases: a session's time zone is UTC.
TOTALS = """
    UPDATE runs_run SET
      tokens = COALESCE((
        SELECT SUM(COALESCE(s.input_tokens, 0) + COALESCE(s.output_tokens, 0))
        FROM runs_step s WHERE s.run_id = runs_run.id AND s.agent <> ''), 0),
      steps_untold = (
        SELECT COUNT(*) FROM runs_step s
        WHERE s.run_id = runs_run.id AND s.agent <> '' AND s.completed_at IS NOT NULL AND s.status <> 'skipped'
          AND (s.input_tokens IS NULL OR s.output_tokens IS NULL)),
      steps_unpriced = (
        SELECT COUNT(*) FROM runs_step s
        WHERE s.run_id = runs_run.id AND s.agent <> '' AND s.completed_at IS NOT NULL AND s.status <> 'skipped')
"""
# A run's steps were all unpriced, so their number is that of the steps that called a model.
DAYS = """
    INSERT INTO runs_spending (team, day, is_sum, steps, tokens, steps_untold, cost_nanos, steps_unpriced)
    SELECT team, DATE(triggered_at), {true}, SUM(steps_unpriced), SUM(tokens), SUM(steps_untold), 0, SUM(steps_unpriced)
    FROM runs_run GROUP BY team, DATE(triggered_at) HAVING SUM(steps_unpriced) > 0
"""


def days(vendor):
    return DAYS.format(true="true" if vendor == "postgresql" else "1")


def fill(apps, schema_editor):
    schema_editor.execute(TOTALS)
    schema_editor.execute(days(schema_editor.connection.vendor))


class Migration(migrations.Migration):
    dependencies = [("runs", "0009_schedules")]

    operations = [
        migrations.AddField("run", "tokens", models.BigIntegerField(default=0)),
        migrations.AddField("run", "steps_untold", models.IntegerField(default=0)),
        migrations.AddField("run", "cost_nanos", models.BigIntegerField(default=0)),
        migrations.AddField("run", "steps_unpriced", models.IntegerField(default=0)),
        migrations.AddField(
            "step",
            "retried",
            models.JSONField(default=list, help_text="Who answered, and their tokens, in tries that did not count."),
        ),
        migrations.AddField(
            "step",
            "cost_nanos",
            models.BigIntegerField(
                null=True, help_text="Billionths of a dollar, of all its calls, judges included; null while not known."
            ),
        ),
        migrations.AddIndex("run", models.Index(fields=["team", "status", "-id"], name="run_team_status_newest")),
        migrations.CreateModel(
            name="Spending",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("team", models.TextField(blank=True)),
                ("day", models.DateField()),
                ("is_sum", models.BooleanField(default=False)),
                ("steps", models.BigIntegerField(help_text="That called a model.")),
                ("tokens", models.BigIntegerField(help_text="Those that were told.")),
                ("steps_untold", models.BigIntegerField(help_text="That did not tell all their tokens.")),
                (
                    "cost_nanos",
                    models.BigIntegerField(help_text="Billionths of a dollar, of the steps whose cost is known."),
                ),
                ("steps_unpriced", models.BigIntegerField(help_text="Whose cost is not known.")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["day", "team"], name="spending_by_day"),
                    models.Index(condition=models.Q(("is_sum", False)), fields=["id"], name="spending_loose"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_sum", True)), fields=("team", "day"), name="spending_one_sum"
                    )
                ],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
