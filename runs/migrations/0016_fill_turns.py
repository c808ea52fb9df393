"""What people decided on and marked before turns were kept counts for the drift of their agents too."""

from django.db import migrations

BATCH = 1000
CLAIMS = """
    UPDATE calibration_sample SET claimed_ppm = (
      SELECT CAST(ROUND(CAST(t.primary_confidence * 1000000 AS NUMERIC)) AS INTEGER) FROM runs_step t
      WHERE t.id = calibration_sample.id AND t.primary_confidence IS NOT NULL
    ) WHERE id >= %s AND id <= %s
"""
# The first decision of a person counts, before any mark.
DECIDED = """
    INSERT INTO calibration_turn (id, agent, claimed_ppm, outcome, is_decided, observed_at)
    SELECT s.id, b.agent, s.claimed_ppm,
      CASE d.kind WHEN 'approve' THEN 'approved' WHEN 'revise' THEN 'revised' WHEN 'escalate' THEN 'escalated'
      ELSE 'aborted' END, {true}, s.observed_at
    FROM runs_decision d JOIN runs_escalation e ON e.id = d.escalation_id
    JOIN calibration_sample s ON s.id = e.step_id JOIN calibration_bucket b ON b.id = s.bucket_id
    WHERE d.id = (SELECT MIN(f.id) FROM runs_decision f WHERE f.escalation_id = e.id AND f.kind <> 'timeout')
      AND s.claimed_ppm IS NOT NULL AND NOT s.is_replay
    ON CONFLICT (id) DO NOTHING
"""
MARKED = """
    INSERT INTO calibration_turn (id, agent, claimed_ppm, outcome, is_decided, observed_at)
    SELECT s.id, b.agent, s.claimed_ppm,
      CASE WHEN s.label = 1 THEN 'approved' WHEN s.label = 0 THEN 'aborted' ELSE 'revised' END, {false}, s.observed_at
    FROM calibration_sample s JOIN calibration_bucket b ON b.id = s.bucket_id
    WHERE s.label_source = 'step_mark' AND s.claimed_ppm IS NOT NULL AND NOT s.is_replay
    ON CONFLICT (id) DO NOTHING
"""


def fill(apps, schema_editor):
    connection = schema_editor.connection
    Sample = apps.get_model("calibration", "Sample")
    adapt = Sample._meta.pk.get_db_prep_value
    after = None
    samples = Sample.objects.order_by("id").values_list("id", flat=True)
    with connection.cursor() as cursor:
        while ids := list((samples.filter(pk__gt=after) if after else samples)[:BATCH]):
            cursor.execute(CLAIMS, [adapt(ids[0], connection), adapt(ids[-1], connection)])
            after = ids[-1]
        words = ("true", "false") if connection.vendor == "postgresql" else ("1", "0")
        cursor.execute(DECIDED.format(true=words[0]))
        cursor.execute(MARKED.format(false=words[1]))


class Migration(migrations.Migration):
    dependencies = [("runs", "0015_reruns"), ("calibration", "0005_turns")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
