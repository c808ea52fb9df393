"""The newest samples of many buckets: each bucket is read from its end through an index, however long its history."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from calibration.models import Sample

# SQLite takes no more than 500 selects in one statement.
AT_ONCE = 400


def newest_first(samples: "QuerySet[Sample]", bucket_ids: Sequence[int], limit: int) -> list[Sample]:
    """The newest ``limit`` of ``samples`` in these buckets. One query for one bucket, else one more than it takes to
    ask AT_ONCE buckets at a time.
    """
    if len(bucket_ids) == 1:
        return list(_newest(samples, bucket_ids[0], limit))
    parts = [bucket_ids[start : start + AT_ONCE] for start in range(0, len(bucket_ids), AT_ONCE)]
    ids = [pk for part in parts for pk in _ids(samples, part, limit)]
    return list(Sample.objects.filter(pk__in=ids).order_by("-observed_at", "-id")[:limit])


def _newest(samples: "QuerySet[Sample]", bucket_id: int, limit: int) -> "QuerySet[Sample]":
    return samples.filter(bucket_id=bucket_id).order_by("-observed_at", "-id")[:limit]


def _ids(samples: "QuerySet[Sample]", bucket_ids: Sequence[int], limit: int) -> list[uuid.UUID]:
    selects: list[str] = []
    values: list[Any] = []
    for bucket_id in bucket_ids:
        rows: QuerySet[Any, Any] = _newest(samples, bucket_id, limit).values_list("id", "observed_at")
        sql, given = rows.query.sql_with_params()
        selects.append(f"SELECT * FROM ({sql}) AS newest")  # noqa: S608 (our own statement)
        values += given
    every = " UNION ALL ".join(selects)
    together = f"SELECT id FROM ({every}) AS every ORDER BY observed_at DESC, id DESC LIMIT %s"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(together, [*values, limit])
        return [row[0] if isinstance(row[0], uuid.UUID) else uuid.UUID(str(row[0])) for row in cursor.fetchall()]
