"""When the answers of buckets came in, and how many: read through an index, counted up to a limit."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import OuterRef, Subquery
from django.db.models.expressions import RawSQL

from calibration.models import Bucket, Sample

MOST = 10_000
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Use:
    """``times`` counts answers, replays among them, in each bucket up to MOST; ``more``: there are more than that."""

    first: datetime | None = None
    last: datetime | None = None
    times: int = 0
    more: bool = False


def use_of(bucket_ids: Collection[int]) -> dict[int, Use]:
    """The use of each bucket. One query."""
    times = Sample.objects.filter(bucket=OuterRef("pk")).values("observed_at")
    counted = RawSQL(
        "(SELECT COUNT(*) FROM (SELECT 1 FROM calibration_sample"
        " WHERE calibration_sample.bucket_id = calibration_bucket.id LIMIT %s) AS counted)",
        [MOST + 1],
    )
    rows = Bucket.objects.filter(pk__in=bucket_ids).annotate(
        first=Subquery(times.order_by("observed_at")[:1]),
        last=Subquery(times.order_by("-observed_at")[:1]),
        counted=counted,
    )
    return {
        pk: Use(first, last, min(count, MOST), count > MOST)
        for pk, first, last, count in rows.values_list("id", "first", "last", "counted")
    }


def last_answers() -> list[tuple[str, datetime | None]]:
    """(agent, when the last answer came) of every bucket whose agent is known. One query."""
    newest = Sample.objects.filter(bucket=OuterRef("pk")).order_by("-observed_at").values("observed_at")[:1]
    return list(Bucket.objects.exclude(agent="").annotate(last=Subquery(newest)).values_list("agent", "last"))


def recency(moment: datetime | None) -> datetime:
    """To sort by: what never happened is before all that did."""
    return moment or _LONG_AGO


def together(uses: Iterable[Use]) -> Use:
    """Several buckets as one."""
    known = list(uses)
    return Use(
        first=min((use.first for use in known if use.first), default=None),
        last=max((use.last for use in known if use.last), default=None),
        times=sum(use.times for use in known),
        more=any(use.more for use in known),
    )
