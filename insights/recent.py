"""The newest answers of a few buckets, each read from its end through an index, however long the history is."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import OuterRef, QuerySet, Subquery

from calibration.models import Bucket, Sample
from insights.bucket_use import recency
from runs.models import Step

MOST_BUCKETS = 20
ANSWERS = 400  # that a page about a step looks at


def with_last_seen(buckets: "QuerySet[Bucket]") -> "QuerySet[Any]":
    """In no order, each with ``seen``: when its newest sample was observed, None without any."""
    newest = Sample.objects.filter(bucket=OuterRef("pk")).order_by("-observed_at").values("observed_at")[:1]
    return buckets.order_by().annotate(seen=Subquery(newest))


def last_seen(buckets: "QuerySet[Bucket]") -> dict[int, datetime]:
    """When the newest sample of each bucket was observed; buckets without any are left out. One query."""
    rows = with_last_seen(buckets).values_list("id", "seen")
    return {pk: seen for pk, seen in rows if seen is not None}


def in_use(buckets: Iterable[tuple[int, str, str]], seen: Mapping[int, datetime]) -> set[int]:
    """Of (id, step, agent), the ids of those that answered last of their step and agent."""
    newest: dict[tuple[str, str], tuple[datetime, int]] = {}
    for bucket_id, step, agent in buckets:
        if (moment := seen.get(bucket_id)) is not None:
            newest[step, agent] = max(newest.get((step, agent), (moment, 0)), (moment, bucket_id))
    return {bucket_id for _, bucket_id in newest.values()}


def newest_buckets(step: str) -> list[int]:
    """The step's buckets, the one that answered last first. One query."""
    seen = dict(with_last_seen(Bucket.objects.filter(step=step)).values_list("id", "seen"))
    return sorted(seen, key=lambda pk: (recency(seen[pk]), pk), reverse=True)


def latest_of(samples: Sequence[uuid.UUID]) -> dict[str, Any]:
    """The threshold and the pipeline of the newest answer; {} when its step is not kept here."""
    rows = Step.objects.filter(pk__in=samples[:1])
    return dict(rows.values("confidence_threshold", "run__pipeline_name").first() or {})


def newest_samples(bucket_ids: Sequence[int], *, limit: int) -> list[uuid.UUID]:
    """Ids of the newest ``limit`` samples (no replays) of the first MOST_BUCKETS buckets, newest first. One query."""
    if not bucket_ids:
        return []
    one = """
        SELECT * FROM (
          SELECT id, observed_at FROM calibration_sample
          WHERE bucket_id = %s AND NOT is_replay ORDER BY observed_at DESC LIMIT %s
        ) AS newest
    """
    asked = list(bucket_ids[:MOST_BUCKETS])
    sql = f"{' UNION ALL '.join([one] * len(asked))} ORDER BY observed_at DESC LIMIT %s"
    values = [value for bucket_id in asked for value in (bucket_id, limit)]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, limit])
        return [_uuid(row[0]) for row in cursor.fetchall()]


def _uuid(value: object) -> uuid.UUID:
    # SQLite keeps ids as text.
    return value if isinstance(value, uuid.UUID) else uuid.UUID(str(value))
