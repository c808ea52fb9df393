import django.db.models.deletion
from django.db import migrations, models

# From the finer table: it is exact, and small next to the samples.
COUNT = """
    INSERT INTO calibration_tallyoften (
      bucket_id, stage, tenth, n, label_ppm, confidence_ppm, squares, by_step_mark, by_failed_check, by_run_mark
    )
    SELECT bucket_id, stage, percent / 10, SUM(n), SUM(label_ppm), SUM(confidence_ppm), SUM(squares),
      SUM(by_step_mark), SUM(by_failed_check), SUM(by_run_mark)
    FROM calibration_tally GROUP BY bucket_id, stage, percent / 10
"""


class Migration(migrations.Migration):
    dependencies = [("calibration", "0003_tallies")]

    operations = [
        migrations.AlterField(
            model_name="tally",
            name="bucket",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="calibration.bucket",
            ),
        ),
        migrations.CreateModel(
            name="TallyOfTen",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.TextField()),
                ("n", models.BigIntegerField()),
                ("label_ppm", models.BigIntegerField()),
                ("confidence_ppm", models.BigIntegerField()),
                ("squares", models.BigIntegerField(help_text="Sum of (confidence - label)², for the Brier score.")),
                ("by_step_mark", models.BigIntegerField(default=0)),
                ("by_failed_check", models.BigIntegerField(default=0)),
                ("by_run_mark", models.BigIntegerField(default=0)),
                ("tenth", models.IntegerField(help_text="0 to 9; 1.0 counts as 9.")),
                (
                    "bucket",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="calibration.bucket",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("bucket", "stage", "tenth"), name="tally_of_ten_unique")
                ],
            },
        ),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
    ]
