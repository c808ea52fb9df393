"""Sums over labelled samples, by bucket and bin."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from django.db import connection

from calibration.binning import MILLION
from calibration.bins import Sums


def read(*, bucket_ids: Iterable[int] | None, stages: Sequence[str], bins: int) -> Mapping[int, Mapping[int, Sums]]:
    """For each bucket with a label (of all buckets when ``bucket_ids`` is None) the sums of its bins. One query."""
    where = f"AND stage IN ({_places(stages)})"
    values: list[str | int] = [*stages]
    if bucket_ids is not None:
        ids = [*bucket_ids]
        where, values = f"{where} AND bucket_id IN ({_places(ids) or 'NULL'})", [*values, *ids]
    found: defaultdict[int, dict[int, Sums]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_of_samples(where, bins), values)
        for owner, index, *sums in cursor.fetchall():
            found[owner][index] = Sums(*map(int, sums))
    return found


def _of_samples(where: str, bins: int) -> str:
    floor = "FLOOR" if connection.vendor == "postgresql" else ""  # a cast truncates on SQLite and rounds on PostgreSQL
    return f"""
        SELECT bucket_id, bin, COUNT(*), SUM(label_ppm), SUM(confidence_ppm),
          SUM((confidence_ppm - label_ppm) * (confidence_ppm - label_ppm)),
          SUM(CASE WHEN label_source = 'step_mark' THEN 1 ELSE 0 END),
          SUM(CASE WHEN label_source = 'failed_check' THEN 1 ELSE 0 END),
          SUM(CASE WHEN label_source = 'run_mark' THEN 1 ELSE 0 END)
        FROM (
          SELECT bucket_id, label_source, CAST(confidence_ppm AS BIGINT) AS confidence_ppm,
            CAST({floor}(label * {MILLION} + 0.5) AS BIGINT) AS label_ppm,
            CASE WHEN confidence_ppm >= {MILLION} THEN {bins} - 1
              ELSE CAST(confidence_ppm AS BIGINT) * {bins} / {MILLION} END AS bin
          FROM calibration_sample WHERE NOT is_replay AND label IS NOT NULL {where}
        ) AS evidence
        GROUP BY bucket_id, bin
    """  # noqa: S608 (numbers and placeholders)


def _places(values: Sequence[object]) -> str:
    return ", ".join(["%s"] * len(values))
