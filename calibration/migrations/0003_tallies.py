from django.db import migrations

# As it was when tallies came: later changes of the code must not change what this once did.
COUNT = """
    INSERT INTO calibration_tally (
      bucket_id, stage, percent, n, label_ppm, confidence_ppm, squares, by_step_mark, by_failed_check, by_run_mark
    )
    SELECT bucket_id, stage, percent, COUNT(*), SUM(label_ppm), SUM(confidence_ppm),
      SUM((confidence_ppm - label_ppm) * (confidence_ppm - label_ppm)),
      SUM(CASE WHEN label_source = 'step_mark' THEN 1 ELSE 0 END),
      SUM(CASE WHEN label_source = 'failed_check' THEN 1 ELSE 0 END),
      SUM(CASE WHEN label_source = 'run_mark' THEN 1 ELSE 0 END)
    FROM (
      SELECT bucket_id, stage, label_source, CAST(confidence_ppm AS BIGINT) AS confidence_ppm,
        CASE WHEN confidence_ppm >= 1000000 THEN 99 ELSE confidence_ppm / 10000 END AS percent,
        CAST({floor}(label * 1000000 + 0.5) AS BIGINT) AS label_ppm
      FROM calibration_sample WHERE NOT is_replay AND label IS NOT NULL
    ) AS evidence
    GROUP BY bucket_id, stage, percent
"""


def count_existing(apps, schema_editor):
    floor = "FLOOR" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(COUNT.format(floor=floor))


class Migration(migrations.Migration):
    dependencies = [("calibration", "0002_marking")]

    operations = [
        migrations.RunSQL("DELETE FROM calibration_tally", migrations.RunSQL.noop),
        migrations.RunPython(count_existing, migrations.RunPython.noop),
    ]
