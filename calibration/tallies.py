"""Sums over labelled samples, kept exact in the transaction that changes a label.

One row per bucket, stage and percent of confidence, and one per tenth, so that pages over all buckets
and the gate read a handful of rows however long the history is. Replays never count.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from django.db import connection, transaction

from calibration.binning import MILLION
from calibration.bins import Sums, sums_of
from calibration.holds import hold_off_samples
from calibration.models import Sample, Tally, TallyOfTen
from calibration.statements import Statement

PERCENTS = 100
_COLUMNS = Sums._fields
_KEY = Sample._meta.pk


class Grain(NamedTuple):
    """One table of sums: ``column`` says which of the ``parts`` that [0, 1] is divided into."""

    parts: int
    table: str
    column: str

    @property
    def addition(self) -> str:
        """SQL that adds given sums to the row of a place; between INSERT and this goes what is to be added."""
        sums = ", ".join(f"{name} = {self.table}.{name} + excluded.{name}" for name in _COLUMNS)
        return f"ON CONFLICT (bucket_id, stage, {self.column}) DO UPDATE SET {sums}"

    @property
    def insertion(self) -> str:
        return f"INSERT INTO {self.table} (bucket_id, stage, {self.column}, {', '.join(_COLUMNS)})"


# The coarsest first: it is the one to read from if its parts make up the bins.
GRAINS = (Grain(10, TallyOfTen._meta.db_table, "tenth"), Grain(PERCENTS, Tally._meta.db_table, "percent"))
_BY_PARTS = {grain.parts: grain for grain in GRAINS}


class Standing(NamedTuple):
    """``n`` labels, ``validated`` bins, and the widest gap between accuracy and mean confidence in one of those."""

    n: int = 0
    validated: int = 0
    widest: float = 0.0


class Place(NamedTuple):
    """Which row: of the grain with so many ``parts``, the one of ``part``, from 0; 1.0 counts in the last."""

    parts: int
    bucket_id: int
    stage: str
    part: int


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
        counted = sums_of(sample.confidence_ppm, sample.label, sample.label_source)
        for place in _places_of(sample):
            self._sums[place] = Sums(*(old + sign * new for old, new in zip(self._sums[place], counted, strict=True)))


def arrival(sample: Sample) -> list[Statement]:
    """The statements that count a sample whose check failed, if its row is there and has no label yet.

    They are for the moment between the insertion of the row and its label: a row that was there
    before has its label already, and is not counted twice.
    """
    if sample.is_replay or not sample.check_failed:
        return []
    counted = sums_of(sample.confidence_ppm, 0.0, "failed_check")
    key = _KEY.get_db_prep_value(sample.pk, connection)
    return [Statement(_ADD_IF_NEW[place.parts], [*place[1:], *counted, key]) for place in _places_of(sample)]


def grain_of(bins: int) -> Grain | None:
    """The table whose rows make up ``bins`` equal bins; None if only the samples themselves tell."""
    return next((grain for grain in GRAINS if grain.parts % bins == 0), None)


def read(*, bucket_ids: Iterable[int] | None, stages: Sequence[str], bins: int) -> Mapping[int, Mapping[int, Sums]]:
    """For each bucket with a label (of all when ``bucket_ids`` is None) the sums of its bins. One query."""
    where = f"stage IN ({_holes(len(stages))})"
    values: list[str | int] = [*stages]
    if bucket_ids is not None:
        ids = [*bucket_ids]
        where, values = f"{where} AND bucket_id IN ({_holes(len(ids)) or 'NULL'})", [*values, *ids]
    found: defaultdict[int, dict[int, Sums]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_grouped(where, bins), values)
        for row in cursor.fetchall():
            found[row[0]][row[1]] = Sums._make(row[2:])
    return found


def standings(*, stages: Sequence[str], bins: int, n_min: int) -> Mapping[int, Standing]:
    """How each bucket with a label stands, for putting very many in an order. One query, one row per bucket."""
    far = f"CASE WHEN n >= %s THEN CAST(ABS(confidence_ppm - label_ppm) AS DOUBLE PRECISION) / n / {MILLION} ELSE 0 END"
    sql = f"""
        SELECT bucket_id, CAST(SUM(n) AS BIGINT), SUM(CASE WHEN n >= %s THEN 1 ELSE 0 END), MAX({far})
        FROM ({_grouped(f"stage IN ({_holes(len(stages))})", bins, ("n", "label_ppm", "confidence_ppm"))}) AS bins
        GROUP BY bucket_id
    """  # noqa: S608 (names of columns, numbers and placeholders)
    with connection.cursor() as cursor:
        cursor.execute(sql, [n_min, n_min, *stages])
        return {row[0]: Standing(row[1], row[2], float(row[3])) for row in cursor.fetchall()}


def differences() -> list[TallyDifference]:
    """Where the tallies are not what the samples add up to.

    One statement per grain, hence one snapshot: changes going on meanwhile are seen on both sides or on neither.
    """
    return [one for grain in GRAINS for one in _differences(grain)]


def rebuild() -> list[TallyDifference]:
    """Add what is missing, and say what it was. Samples and marks wait meanwhile, some seconds per million."""
    with transaction.atomic():
        hold_off_samples()
        found = differences()
        _add({one.place: one.missing for one in found})
    return found


def _places_of(sample: Sample) -> list[Place]:
    return [
        Place(parts, sample.bucket_id, sample.stage, min(sample.confidence_ppm * parts // MILLION, parts - 1))
        for parts, *_ in GRAINS
    ]


def _add(sums: Mapping[Place, Sums]) -> None:
    if sums:
        with connection.cursor() as cursor:
            for parts, places in groupby(sorted(sums), key=lambda place: place.parts):
                cursor.executemany(_ADD[parts], [[*place[1:], *sums[place]] for place in places])


def _differences(grain: Grain) -> list[TallyDifference]:
    sums = ", ".join(f"SUM({name})" for name in _COLUMNS)
    negated = ", ".join(f"-{name}" for name in _COLUMNS)
    sql = f"""
        SELECT bucket_id, stage, bin, {sums} FROM (
          SELECT bucket_id, stage, bin, {", ".join(_COLUMNS)} FROM ({_evidence("TRUE", grain.parts)}) AS evidence
          UNION ALL SELECT bucket_id, stage, {grain.column}, {negated} FROM {grain.table}
        ) AS both_sides
        GROUP BY bucket_id, stage, bin HAVING {" OR ".join(f"SUM({name}) <> 0" for name in _COLUMNS)}
        ORDER BY bucket_id, stage, bin
    """  # noqa: S608 (names of columns and numbers)
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return [TallyDifference(Place(grain.parts, *row[:3]), Sums(*map(int, row[3:]))) for row in cursor.fetchall()]


def _holes(many: int) -> str:
    return ", ".join(["%s"] * many)


_ROW = _holes(len(Place._fields) - 1 + len(_COLUMNS))
_UNLABELLED = "SELECT 1 FROM calibration_sample WHERE id = %s AND check_failed AND label IS NULL"
_ADD = {parts: f"{grain.insertion} VALUES ({_ROW}) {grain.addition}" for parts, grain in _BY_PARTS.items()}
_ADD_IF_NEW = {
    parts: f"{grain.insertion} SELECT {_ROW} WHERE EXISTS ({_UNLABELLED}) {grain.addition}"
    for parts, grain in _BY_PARTS.items()
}


def _grouped(where: str, bins: int, columns: Sequence[str] = _COLUMNS) -> str:
    grain = grain_of(bins)
    if grain is None:
        source, index = f"({_evidence(where, bins)}) AS evidence", "bin"
    else:
        source, index = f"{grain.table} WHERE n > 0 AND {where}", f"{grain.column} / {grain.parts // bins}"
    # PostgreSQL's sums of bigint are numeric.
    sums = ", ".join(f"CAST(SUM({name}) AS BIGINT) AS {name}" for name in columns)
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
