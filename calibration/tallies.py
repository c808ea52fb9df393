"""Sums over labelled samples, kept exact in the transaction that changes a label.

One row per bucket, stage and percent of confidence, so that pages over all buckets and the gate read
a handful of rows however long the history is. Replays never count.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import connection, transaction

from calibration.binning import MILLION
from calibration.bins import Sums, sums_of
from calibration.holds import hold_off_samples
from calibration.models import Sample
from calibration.statements import Statement

PERCENTS = 100
_COLUMNS = Sums._fields


class Place(NamedTuple):
    """Which row of the tallies; ``percent`` is 0 to 99, and 1.0 counts as 99."""

    bucket_id: int
    stage: str
    percent: int


@dataclass(frozen=True)
class TallyDifference:
    """``missing`` is what must be added to the stored row to make it what the samples add up to."""

    place: Place
    missing: Sums


class Change:
    """Samples that stop counting as they did and count anew; ``store`` once both are told."""

    def __init__(self) -> None:
        self._sums: defaultdict[Place, Sums] = defaultdict(Sums)

    def take(self, sample: Sample) -> None:
        """``sample`` as it is now counts no more."""
        self._count(sample, -1)

    def add(self, sample: Sample) -> None:
        """``sample`` as it is now counts."""
        self._count(sample, 1)

    def store(self) -> None:
        """Write the sums, in the transaction at hand and in the order that every writer keeps."""
        _add({place: sums for place, sums in self._sums.items() if any(sums)})

    def _count(self, sample: Sample, sign: int) -> None:
        if sample.label is None or sample.is_replay:
            return
        place, counted = place_of(sample), sums_of(sample.confidence_ppm, sample.label, sample.label_source)
        self._sums[place] = Sums(*(old + sign * new for old, new in zip(self._sums[place], counted, strict=True)))


def place_of(sample: Sample) -> Place:
    return Place(sample.bucket_id, sample.stage, min(sample.confidence_ppm * PERCENTS // MILLION, PERCENTS - 1))


def arrival(sample: Sample) -> Statement | None:
    """The statement that counts a sample whose check failed, if its row is there and has no label yet.

    It is for the moment between the insertion of the row and its label: a row that was there before
    has its label already, and is not counted twice.
    """
    if sample.is_replay or not sample.check_failed:
        return None
    counted = sums_of(sample.confidence_ppm, 0.0, "failed_check")
    key = Sample._meta.pk.get_db_prep_value(sample.pk, connection)
    return Statement(_ADD_IF_NEW, [*place_of(sample), *counted, key])


def read(*, bucket_ids: Iterable[int] | None, stages: Sequence[str], bins: int) -> Mapping[int, Mapping[int, Sums]]:
    """For each bucket with a label (of all when ``bucket_ids`` is None) the sums of its bins. One query.

    From the tallies when ``bins`` divides 100, else from the samples.
    """
    where = f"stage IN ({_places(stages)})"
    values: list[str | int] = [*stages]
    if bucket_ids is not None:
        ids = [*bucket_ids]
        where, values = f"{where} AND bucket_id IN ({_places(ids) or 'NULL'})", [*values, *ids]
    found: defaultdict[int, dict[int, Sums]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_grouped(where, bins), values)
        for owner, index, *sums in cursor.fetchall():
            found[owner][index] = Sums(*map(int, sums))
    return found


def differences() -> list[TallyDifference]:
    """Where the tallies are not what the samples add up to.

    One statement, hence one snapshot: changes going on meanwhile are seen in both or in neither.
    """
    sums = ", ".join(f"SUM({name})" for name in _COLUMNS)
    negated = ", ".join(f"-{name}" for name in _COLUMNS)
    sql = f"""
        SELECT bucket_id, stage, bin, {sums} FROM (
          SELECT bucket_id, stage, bin, {", ".join(_COLUMNS)} FROM ({_evidence("TRUE", PERCENTS)}) AS evidence
          UNION ALL SELECT bucket_id, stage, percent, {negated} FROM calibration_tally
        ) AS both_sides
        GROUP BY bucket_id, stage, bin HAVING {" OR ".join(f"SUM({name}) <> 0" for name in _COLUMNS)}
        ORDER BY bucket_id, stage, bin
    """  # noqa: S608 (names of columns and numbers)
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return [TallyDifference(Place(*row[:3]), Sums(*map(int, row[3:]))) for row in cursor.fetchall()]


def rebuild() -> list[TallyDifference]:
    """Add what is missing, and say what it was. Samples and marks wait meanwhile, for a second per million."""
    with transaction.atomic():
        hold_off_samples()
        found = differences()
        _add({one.place: one.missing for one in found})
    return found


_SET = ", ".join(f"{name} = calibration_tally.{name} + excluded.{name}" for name in _COLUMNS)
_TARGET = f"INSERT INTO calibration_tally (bucket_id, stage, percent, {', '.join(_COLUMNS)})"
_HOLES = ", ".join(["%s"] * (len(Place._fields) + len(_COLUMNS)))
_OR_ADD = f"ON CONFLICT (bucket_id, stage, percent) DO UPDATE SET {_SET}"
_ADD = f"{_TARGET} VALUES ({_HOLES}) {_OR_ADD}"
_ADD_IF_NEW = f"""
    {_TARGET} SELECT {_HOLES}
    WHERE EXISTS (SELECT 1 FROM calibration_sample WHERE id = %s AND check_failed AND label IS NULL)
    {_OR_ADD}
"""  # noqa: S608 (names of columns and placeholders)


def _add(sums: Mapping[Place, Sums]) -> None:
    if sums:
        with connection.cursor() as cursor:
            cursor.executemany(_ADD, [[*place, *sums[place]] for place in sorted(sums)])


def _grouped(where: str, bins: int) -> str:
    if PERCENTS % bins:
        source, index = f"({_evidence(where, bins)}) AS evidence", "bin"
    else:
        source, index = f"calibration_tally WHERE n > 0 AND {where}", f"percent / {PERCENTS // bins}"
    sums = ", ".join(f"SUM({name})" for name in _COLUMNS)
    return f"SELECT bucket_id, {index} AS place, {sums} FROM {source} GROUP BY bucket_id, place"  # noqa: S608


def _evidence(where: str, bins: int) -> str:
    """SQL for the samples that count, each with its bin and what it adds to the sums."""
    # A cast truncates on SQLite and rounds on PostgreSQL.
    label = f"CAST({'FLOOR' if connection.vendor == 'postgresql' else ''}(label * {MILLION} + 0.5) AS BIGINT)"
    confidence = "CAST(confidence_ppm AS BIGINT)"  # products of two would not fit PostgreSQL's integer
    return f"""
        SELECT bucket_id, stage,
          CASE WHEN confidence_ppm >= {MILLION} THEN {bins} - 1 ELSE {confidence} * {bins} / {MILLION} END AS bin,
          1 AS n, {label} AS label_ppm, {confidence} AS confidence_ppm,
          ({confidence} - {label}) * ({confidence} - {label}) AS squares,
          CASE WHEN label_source = 'step_mark' THEN 1 ELSE 0 END AS by_step_mark,
          CASE WHEN label_source = 'failed_check' THEN 1 ELSE 0 END AS by_failed_check,
          CASE WHEN label_source = 'run_mark' THEN 1 ELSE 0 END AS by_run_mark
        FROM calibration_sample WHERE NOT is_replay AND label IS NOT NULL AND {where}
    """  # noqa: S608 (numbers and placeholders)


def _places(values: Sequence[object]) -> str:
    return ", ".join(["%s"] * len(values))
