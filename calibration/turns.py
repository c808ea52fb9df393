"""What became of each agent's claims: written by marks and decisions, read by the gate.

A turn is written with whatever gives it its outcome, in the same transaction; ``calibration.drift`` says what the
last of them mean. Replays and samples without a claim (imported ones) make none.
"""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from calibration.drift import Record
from calibration.models import KEPT, LabelSource, Sample, Turn, TurnOutcome
from calibration.storable import storable_text

LATEST = 10
_KEPT = ", ".join(f"'{outcome.value}'" for outcome in KEPT)
_RECORD = f"""
    SELECT COUNT(*), SUM(CASE WHEN outcome IN ({_KEPT}) THEN 1 ELSE 0 END), SUM(claimed_ppm) FROM (
      SELECT outcome, claimed_ppm FROM calibration_turn WHERE agent = %s ORDER BY observed_at DESC, id DESC LIMIT %s
    ) AS latest
"""  # noqa: S608 (constants)
_UPSERT = """
    INSERT INTO calibration_turn (id, agent, claimed_ppm, outcome, is_decided, observed_at)
    SELECT s.id, b.agent, s.claimed_ppm, {outcome}, {is_decided}, s.observed_at
    FROM calibration_sample s JOIN calibration_bucket b ON b.id = s.bucket_id
    WHERE s.id IN ({ids}) AND s.claimed_ppm IS NOT NULL AND NOT s.is_replay
    ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome, is_decided = excluded.is_decided
    WHERE NOT calibration_turn.is_decided
"""
_BY_LABEL = f"""CASE WHEN s.label = 1 THEN '{TurnOutcome.APPROVED.value}'
    WHEN s.label = 0 THEN '{TurnOutcome.ABORTED.value}' ELSE '{TurnOutcome.REVISED.value}' END"""
BATCH = 200


def record(agent: str, window: int = LATEST) -> Record:
    """The last ``window`` turns of ``agent`` that have an outcome: one statement over as many rows."""
    with connection.cursor() as cursor:
        cursor.execute(_RECORD, [storable_text(agent), window])
        n, kept, claimed = cursor.fetchone()
    return Record.of(n=n, kept=int(kept or 0), claimed_ppm=int(claimed or 0))


def latest(agent: str, count: int = LATEST) -> list[Turn]:
    """Those turns themselves, the newest first."""
    return list(Turn.objects.filter(agent=storable_text(agent)).order_by("-observed_at", "-id")[:count])


def record_of(found: Sequence[Turn]) -> Record:
    """What turns that have been read add up to."""
    kept = sum(turn.outcome in KEPT for turn in found)
    return Record.of(n=len(found), kept=kept, claimed_ppm=sum(turn.claimed_ppm for turn in found))


def decide(sample_id: UUID, outcome: TurnOutcome) -> None:
    """A person decided on the step: the first such decision counts, whatever the step's marks say before or after.

    A step without a sample (a group, or no agent) makes no turn.
    """
    _upsert([sample_id], f"'{outcome.value}'", is_decided=True)


def follow(samples: Sequence[Sample]) -> None:
    """Bring the turns of samples whose label has just been stored in line with it: one statement, seldom two.

    A mark of correct counts as approved, partial as revised, incorrect as aborted; where several people marked,
    their mean does. Without a mark on the step itself the outcome is pending again.
    """
    marked = [sample.pk for sample in samples if sample.label_source == LabelSource.STEP_MARK]
    for start in range(0, len(marked), BATCH):
        _upsert(marked[start : start + BATCH], _BY_LABEL, is_decided=False)
    if len(marked) < len(samples):
        pending = [sample.pk for sample in samples if sample.label_source != LabelSource.STEP_MARK]
        for start in range(0, len(pending), BATCH):
            Turn.objects.filter(id__in=pending[start : start + BATCH], is_decided=False).delete()


def _upsert(ids: Sequence[UUID], outcome: str, *, is_decided: bool) -> None:
    adapt = Sample._meta.pk.get_db_prep_value
    decided = str(is_decided).lower()
    sql = _UPSERT.format(outcome=outcome, is_decided=decided, ids=", ".join(["%s"] * len(ids)))
    with connection.cursor() as cursor:
        cursor.execute(sql, [adapt(one, connection) for one in ids])
