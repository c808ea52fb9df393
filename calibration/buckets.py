"""Buckets on the hot path: find the bucket, look up its record, add a sample.

Plain SQL where every step of every run passes through; the same statements run on SQLite and
PostgreSQL.
"""

from dataclasses import astuple, dataclass, fields
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import connection, transaction

from calibration import binning, tallies
from calibration.labels import relabel
from calibration.models import Bucket, LabelSource, Sample
from calibration.statements import Statement, execute
from calibration.storable import storable_name, storable_text
from calibration.unit import unit

Evidence = Literal["all", "production"]
STAGES: dict[str, tuple[str, ...]] = {"all": ("production", "testing"), "production": ("production",)}
CACHE_LIMIT = 10_000


@dataclass(frozen=True)
class BucketKey:
    """What one track record belongs to. "" is "not reported", a value of its own."""

    step: str
    agent: str
    model: str = ""
    provider: str = ""
    prompt_hash: str = ""
    agent_version: str = ""

    def __post_init__(self) -> None:
        for part in fields(self):
            # The first two are names that pipelines give; the others come from agents, and may be of any length.
            fit = storable_text if part.name in {"step", "agent"} else storable_name
            object.__setattr__(self, part.name, fit(getattr(self, part.name)))


@dataclass(frozen=True)
class BinEvidence:
    """The record of one bin [lo, hi): ``n`` labels, their mean (None without any), how many are needed."""

    lo: float
    hi: float
    n: int
    accuracy: float | None
    n_min: int

    @property
    def validated(self) -> bool:
        return self.n >= self.n_min


_ids: dict[BucketKey, int] = {}


def bucket_id(key: BucketKey) -> int:
    """The id of the bucket, made on first use. Remembered in this process; buckets are never deleted."""
    if (known := _ids.get(key)) is not None:
        return known
    found = find_bucket(key)
    if found is None:
        Bucket.objects.bulk_create([Bucket(**_columns(key))], ignore_conflicts=True)
        found = Bucket.objects.values_list("id", flat=True).get(**_columns(key))
        _remember(key, found)
    return found


def find_bucket(key: BucketKey) -> int | None:
    """The id of the bucket, or None while it has no sample."""
    if (known := _ids.get(key)) is not None:
        return known
    found = Bucket.objects.filter(**_columns(key)).values_list("id", flat=True).first()
    if found is not None:
        _remember(key, found)
    return found


def forget_ids(**_signal: object) -> None:
    """Drop what was remembered, after the tables were emptied (``flush``) or made anew (``migrate``)."""
    _ids.clear()


def lookup(
    bucket: BucketKey | int, confidence: float, *, n_min: int, bin_width: float, evidence: Evidence = "all"
) -> BinEvidence:
    """The measured record at this confidence: one statement over a handful of rows.

    Counts labelled samples of both stages, or of production only; replays never. Raises ValueError
    for a confidence that is no number in [0, 1], a width that does not divide 1, or unknown evidence.
    """
    if evidence not in STAGES:
        raise ValueError(f"evidence: expected all or production, not {evidence!r}")
    index = binning.bin_of(binning.to_ppm(confidence), bin_width)
    lo, hi = binning.edges(index, bin_width)
    owner = bucket if isinstance(bucket, int) else find_bucket(bucket)
    n, total = (0, 0.0) if owner is None else _record(owner, STAGES[evidence], index, bin_width)
    return BinEvidence(lo, hi, n, total / n if n else None, n_min)


def _record(owner: int, stages: tuple[str, ...], index: int, bin_width: float) -> tuple[int, float]:
    """How many labels, and their sum: from the tallies if those make up the bin."""
    bins = binning.bins_of(bin_width)
    grain = tallies.grain_of(bins)
    if grain is None:
        return _count(owner, stages, *binning.ppm_range(index, bin_width))
    per_bin = grain.parts // bins
    placeholders = ", ".join(["%s"] * len(stages))
    sql = f"""
        SELECT SUM(n), SUM(label_ppm) FROM {grain.table}
        WHERE bucket_id = %s AND stage IN ({placeholders}) AND {grain.column} >= %s AND {grain.column} < %s
    """  # noqa: S608 (placeholders and names of columns)
    with connection.cursor() as cursor:
        cursor.execute(sql, [owner, *stages, index * per_bin, (index + 1) * per_bin])
        n, total = cursor.fetchone()
    return int(n or 0), int(total or 0) / binning.MILLION


def _count(owner: int, stages: tuple[str, ...], start: int, below: int) -> tuple[int, float]:
    # The two last conditions are word for word those of the partial index, or SQLite would not use it.
    placeholders = ", ".join(["%s"] * len(stages))
    sql = f"""
        SELECT COUNT(*), SUM(label) FROM calibration_sample
        WHERE bucket_id = %s AND stage IN ({placeholders}) AND confidence_ppm >= %s AND confidence_ppm < %s
          AND NOT is_replay AND label IS NOT NULL
    """  # noqa: S608 (placeholders only)
    with connection.cursor() as cursor:
        cursor.execute(sql, [owner, *stages, start, below])
        n, total = cursor.fetchone()
    return n, total or 0.0


_FIELDS = Sample._meta.concrete_fields
_GROUP = [field.name for field in _FIELDS].index("group")
_INSERT = f"""
    INSERT INTO calibration_sample ({", ".join(f'"{field.column}"' for field in _FIELDS)})
    SELECT {", ".join(["%s"] * len(_FIELDS))}
    WHERE NOT EXISTS (SELECT 1 FROM calibration_mark WHERE "group" = %s AND is_current)
    ON CONFLICT (id) DO NOTHING
"""  # noqa: S608 (names of columns and placeholders)
_LABEL_BY_CHECK = f"""
    UPDATE calibration_sample SET label = 0, label_source = '{LabelSource.FAILED_CHECK.value}'
    WHERE id = %s AND check_failed AND label IS NULL
"""  # noqa: S608 (a constant)


def record_sample(**sample: Any) -> None:
    """Run the statements of ``sampling`` at once."""
    with transaction.atomic(savepoint=False):
        execute(sampling(**sample))


def sampling(
    *,
    id: UUID,
    bucket_id: int,
    group: UUID,
    stage: str,
    confidence: float,
    observed_at: datetime,
    check_failed: bool,
    is_replay: bool = False,
    claimed: float | None = None,
) -> list[Statement]:
    """What adds a sample with its label: one statement, three if a check failed.

    They do more only if the sample's run was marked before the step ended. The same id again changes
    nothing. ``claimed`` is S, where it is known. Raises ValueError for a confidence or claim that is no number
    in [0, 1].
    """
    sample = Sample(
        id=id,
        bucket_id=bucket_id,
        group=group,
        stage=stage,
        confidence=unit("confidence", confidence),
        confidence_ppm=binning.to_ppm(confidence),
        claimed_ppm=None if claimed is None else binning.to_ppm(claimed),
        observed_at=observed_at,
        check_failed=check_failed,
        is_replay=is_replay,
    )
    row = _row(sample)
    insertion = Statement(_INSERT, [*row, row[_GROUP]], otherwise=lambda: _record_in_marked_group(sample))
    return [insertion, *_labelling(sample)]


def _labelling(sample: Sample) -> list[Statement]:
    """What counts and labels a sample whose check failed. In this order: a row with a label is counted already."""
    if not sample.check_failed:
        return []
    labelling = Statement(_LABEL_BY_CHECK, [Sample._meta.pk.get_db_prep_value(sample.pk, connection)])
    return [*tallies.arrival(sample), labelling]


def _record_in_marked_group(sample: Sample) -> None:
    with transaction.atomic():
        if not Sample.objects.filter(pk=sample.pk).exists():
            Sample.objects.bulk_create([sample], ignore_conflicts=True)
            relabel(Sample.objects.select_for_update().filter(pk=sample.pk))


def _row(sample: Sample) -> list[Any]:
    """The values of all columns, in the order of ``_INSERT``, as this database takes them."""
    return [field.get_db_prep_save(getattr(sample, field.attname), connection) for field in _FIELDS]


def _columns(key: BucketKey) -> dict[str, str]:
    return dict(zip((part.name for part in fields(key)), astuple(key), strict=True))


def _remember(key: BucketKey, found: int) -> None:
    def keep() -> None:
        # Inside a transaction the row may still be rolled back, and this id given to another bucket.
        if not connection.in_atomic_block:
            if len(_ids) >= CACHE_LIMIT:
                _ids.clear()
            _ids[key] = found

    transaction.on_commit(keep)
