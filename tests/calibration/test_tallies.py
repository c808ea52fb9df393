import importlib
import uuid

import pytest
from django.apps import apps
from django.db import connection

from calibration import tallies
from calibration.bins import Sums, total
from calibration.buckets import bucket_id
from calibration.labels import mark_group, mark_sample, mark_samples, relabel, undo_mark
from calibration.models import Sample, Tally, TallyOfTen
from calibration.tallies import Place, TallyDifference
from tests.calibration.factories import NOW, key, person, record

pytestmark = pytest.mark.django_db
HOW = {"via": "queue", "now": NOW}


def stored() -> dict[Place, Sums]:
    """Every sum by percent that holds a label; those by tenth must be the same, ten by ten."""
    columns = ("bucket_id", "stage", "percent", *Sums._fields)
    fine = {Place(100, *row[:3]): Sums(*row[3:]) for row in Tally.objects.exclude(n=0).values_list(*columns)}
    columns = ("bucket_id", "stage", "tenth", *Sums._fields)
    coarse = {Place(10, *row[:3]): Sums(*row[3:]) for row in TallyOfTen.objects.exclude(n=0).values_list(*columns)}
    joined: dict[Place, list[Sums]] = {}
    for at, sums in fine.items():
        joined.setdefault(at._replace(parts=10, part=at.part // 10), []).append(sums)
    assert coarse == {at: total(parts) for at, parts in joined.items()}
    return fine


def place(percent: int, stage: str = "production") -> Place:
    return Place(100, bucket_id(key()), stage, percent)


def test_a_sample_nobody_knows_about_is_in_no_tally():
    record(key(), 0.95)
    assert stored() == {}


def test_a_failed_check_counts_at_once():
    record(key(), 0.95, check_failed=True)
    # (0.95 - 0)² = 0.9025, in ppm²
    assert stored() == {place(95): Sums(1, 0, 950_000, 902_500_000_000, 0, 1, 0)}


def test_the_same_sample_again_counts_once():
    sample = record(key(), 0.95, check_failed=True)
    record(key(), 0.95, id=sample, check_failed=True)
    assert stored()[place(95)].n == 1


def test_a_failed_check_in_a_run_that_was_marked_counts_once():
    group = uuid.uuid4()
    mark_group(group=group, by=person(), outcome="correct", **HOW)
    record(key(), 0.95, group=group, check_failed=True)
    record(key(), 0.95, group=group)
    # labels 0 and 1: (0.95)² + (0.05)² = 0.9025 + 0.0025
    assert stored() == {place(95): Sums(2, 1_000_000, 1_900_000, 905_000_000_000, 0, 1, 1)}


def test_replays_never_count():
    sample = record(key(), 0.95, check_failed=True, is_replay=True)
    mark_sample(sample_id=sample, by=person(), outcome="correct", **HOW)
    judged = record(key(), 0.95, is_replay=True)
    mark_sample(sample_id=judged, by=person(), outcome="partial", **HOW)
    assert stored() == {}
    assert tallies.differences() == []
    assert set(Sample.objects.values_list("label", flat=True)) == {1.0, 0.5}


def test_a_mark_moves_the_label_from_one_sum_to_another():
    sample, anna = record(key(), 0.95, check_failed=True), person()
    mark_sample(sample_id=sample, by=anna, outcome="partial", **HOW)
    # (0.95 - 0.5)² = 0.2025
    assert stored() == {place(95): Sums(1, 500_000, 950_000, 202_500_000_000, 1, 0, 0)}
    mark_sample(sample_id=sample, by=person(), outcome="correct", **HOW)
    # the mean of 0.5 and 1; (0.95 - 0.75)² = 0.04
    assert stored() == {place(95): Sums(1, 750_000, 950_000, 40_000_000_000, 1, 0, 0)}


def test_undoing_gives_back_what_was():
    sample, anna = record(key(), 0.95, check_failed=True), person()
    before = stored()
    mark = mark_sample(sample_id=sample, by=anna, outcome="correct", **HOW)
    undo_mark(mark_id=mark.pk, by=anna, now=NOW)
    assert stored() == before


def test_percents_hold_their_lower_edge_and_the_last_one_holds_1():
    for confidence in (0.0, 0.2999999, 0.3, 0.99, 1.0):
        record(key(), confidence, check_failed=True)
    assert {at.part: sums.n for at, sums in stored().items()} == {0: 1, 29: 1, 30: 1, 99: 2}


def test_stages_are_apart():
    record(key(), 0.5, check_failed=True)
    record(key(), 0.5, check_failed=True, stage="testing")
    assert set(stored()) == {place(50), place(50, "testing")}


def test_many_marks_at_once_cost_as_many_statements_as_few(django_assert_num_queries):
    anna = person()
    samples = [record(key(prompt_hash=f"{number}"), number / 40) for number in range(40)]
    # savepoint, rows, marks that stand, superseding, insert, marks on both, labels, two sums, turns, release
    expected = 12 if connection.vendor == "sqlite" else 13
    for chosen in (samples[:2], samples[2:]):
        with django_assert_num_queries(expected):
            mark_samples(sample_ids=chosen, by=anna, outcome="correct", **HOW)
    assert sum(sums.n for sums in stored().values()) == 40


def test_a_difference_is_found_and_put_right():
    record(key(), 0.95, check_failed=True)
    assert tallies.differences() == []
    Tally.objects.update(n=5)
    Sample.objects.update(confidence_ppm=940_000)
    moved = Sums(1, 0, 940_000, 883_600_000_000, 0, 1, 0)
    gone = Sums(-5, 0, -950_000, -902_500_000_000, 0, -1, 0)
    tenth = place(9)._replace(parts=10)
    found = [
        TallyDifference(tenth, Sums(0, 0, -10_000, -18_900_000_000, 0, 0, 0)),
        TallyDifference(place(94), moved),
        TallyDifference(place(95), gone),
    ]
    assert tallies.differences() == found
    assert tallies.rebuild() == found
    assert stored() == {place(94): moved}
    assert tallies.rebuild() == []


def test_labels_that_are_no_whole_ppm_are_rounded_alike_everywhere():
    sample = record(key(), 0.5)
    for outcome in ("correct", "incorrect", "incorrect"):
        mark_sample(sample_id=sample, by=person(), outcome=outcome, **HOW)
    Sample.objects.filter(pk=record(key(), 0.5)).update(label=1 / 128, label_source="run_mark")  # 7812.5 ppm, a tie
    relabelled = tallies.rebuild()
    assert [one.missing.label_ppm for one in relabelled] == [7813, 7813]
    assert stored()[place(50)].label_ppm == 333_333 + 7813
    relabel(Sample.objects.all())
    assert tallies.differences() == []


def test_samples_of_before_there_were_tallies_are_counted_by_the_migration():
    group = uuid.uuid4()
    for number in range(30):
        record(key(), number / 29, group=group if number % 3 else uuid.uuid4(), check_failed=number % 2 == 0)
    mark_group(group=group, by=person(), outcome="partial", **HOW)
    before = stored()
    Tally.objects.all().delete()
    TallyOfTen.objects.all().delete()
    importlib.import_module("calibration.migrations.0003_tallies").count_existing(apps, _Editor)
    _Editor.execute(importlib.import_module("calibration.migrations.0004_tallies_of_ten").COUNT)
    assert stored() == before
    assert tallies.differences() == []


class _Editor:
    """What the migration needs of a schema editor; SQLite's own wants no open transaction."""

    connection = connection

    @staticmethod
    def execute(sql):
        with connection.cursor() as cursor:
            cursor.execute(sql)
