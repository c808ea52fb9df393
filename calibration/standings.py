"""How many labels single bins have, read for many bins at once."""

from collections.abc import Collection
from typing import NamedTuple

from django.db import connection

from calibration import binning, buckets, tallies
from calibration.buckets import STAGES, Evidence


class Place(NamedTuple):
    """A bin of a bucket; ``bin`` counts from 0."""

    bucket_id: int
    bin: int


class Standing(NamedTuple):
    """``n`` labels, and their mean (None without any)."""

    n: int
    accuracy: float | None


def standings(places: Collection[Place], *, bin_width: float, evidence: Evidence = "all") -> dict[Place, Standing]:
    """What the gate would find in each of these bins. One query if tallies make up the bins, else one for each.

    Raises ValueError for a width that does not divide 1, or unknown evidence.
    """
    bins = binning.bins_of(bin_width)
    grain = tallies.grain_of(bins)
    if grain is None:
        return {place: _looked_up(place, bin_width, evidence) for place in places}
    if evidence not in STAGES:
        raise ValueError(f"evidence: expected all or production, not {evidence!r}")
    found = dict.fromkeys(places, Standing(0, None))
    found.update(_tallied(places, grain, grain.parts // bins, STAGES[evidence]) if places else {})
    return found


def _tallied(
    places: Collection[Place], grain: tallies.Grain, per_bin: int, stages: tuple[str, ...]
) -> dict[Place, Standing]:
    wanted = ", ".join(["(%s, %s, %s)"] * len(places))
    sql = f"""
        WITH wanted(bucket_id, first, below) AS (VALUES {wanted})
        SELECT wanted.bucket_id, wanted.first, SUM(tally.n), SUM(tally.label_ppm)
        FROM wanted JOIN {grain.table} AS tally ON tally.bucket_id = wanted.bucket_id
          AND tally.stage IN ({", ".join(["%s"] * len(stages))})
          AND tally.{grain.column} >= wanted.first AND tally.{grain.column} < wanted.below
        GROUP BY wanted.bucket_id, wanted.first
    """  # noqa: S608 (names of our own tables and placeholders)
    edges = [(place.bucket_id, place.bin * per_bin, (place.bin + 1) * per_bin) for place in places]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*(value for edge in edges for value in edge), *stages])
        rows = cursor.fetchall()
    return {
        Place(bucket, first // per_bin): Standing(int(n), int(label_ppm) / binning.MILLION / int(n))
        for bucket, first, n, label_ppm in rows
        if n
    }


def _looked_up(place: Place, bin_width: float, evidence: Evidence) -> Standing:
    lo, hi = binning.edges(place.bin, bin_width)
    found = buckets.lookup(place.bucket_id, (lo + hi) / 2, n_min=1, bin_width=bin_width, evidence=evidence)
    return Standing(found.n, found.accuracy)
