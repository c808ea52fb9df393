import uuid
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from calibration import buckets
from calibration.buckets import BinEvidence, BucketKey, bucket_id, find_bucket, lookup
from calibration.labels import mark_sample
from calibration.models import Bucket, Sample
from tests.calibration.factories import NOW, key, person, record

SETTINGS = {"n_min": 20, "bin_width": 0.1}


def marked(bucket: BucketKey, confidence: float, outcomes: str, **given: object) -> None:
    """Samples marked c(orrect), p(artial), i(ncorrect) or not at all (-)."""
    anna, words = person(), {"c": "correct", "p": "partial", "i": "incorrect"}
    for letter in outcomes:
        sample = record(bucket, confidence, **given)
        if letter != "-":
            mark_sample(sample_id=sample, by=anna, outcome=words[letter], via="api", now=NOW)


@pytest.mark.django_db
def test_the_record_of_a_bin_is_the_mean_label_of_its_labelled_samples():
    marked(key(), 0.95, "ccpi-")
    # (1 + 1 + .5 + 0) / 4; the unmarked one is no evidence, not a zero
    assert lookup(key(), 0.91, **SETTINGS) == BinEvidence(0.9, 1.0, 4, 0.625, 20)


@pytest.mark.django_db
def test_without_labels_there_is_no_accuracy():
    assert lookup(key(), 0.95, **SETTINGS) == BinEvidence(0.9, 1.0, 0, None, 20)
    record(key())
    assert lookup(key(), 0.95, **SETTINGS) == BinEvidence(0.9, 1.0, 0, None, 20)


@pytest.mark.django_db
def test_a_lookup_makes_no_bucket():
    lookup(key(), 0.95, **SETTINGS)
    assert not Bucket.objects.exists()


@pytest.mark.django_db
def test_a_bin_holds_its_lower_edge_and_the_last_one_holds_1():
    for confidence in (0.2999999, 0.3, 0.3999999, 0.4, 0.9, 1.0):
        record(key(), confidence, check_failed=True)
    counts = {confidence: lookup(key(), confidence, **SETTINGS).n for confidence in (0.2, 0.3, 0.4, 0.95)}
    assert counts == {0.2: 1, 0.3: 2, 0.4: 1, 0.95: 2}


@pytest.mark.django_db
@pytest.mark.parametrize("width", [0.1, 0.05, 0.125])  # from tallies of tenths, of percents; from the samples
def test_labels_at_the_edges_of_a_bin_count_where_they_belong(width):
    for edge in (2 * width, 3 * width):
        record(key(), edge, check_failed=True)
    found = [lookup(key(), (index + 0.5) * width, n_min=20, bin_width=width).n for index in range(1, 5)]
    assert found == [0, 1, 1, 0]


@pytest.mark.django_db
@pytest.mark.parametrize("part", ["step", "agent", "model", "provider", "prompt_hash", "agent_version"])
def test_every_part_of_the_key_keeps_samples_apart(part):
    record(key(), check_failed=True)
    assert lookup(key(**{part: "other"}), 0.95, **SETTINGS).n == 0
    assert lookup(key(), 0.95, **SETTINGS).n == 1


@pytest.mark.django_db
def test_not_reported_is_a_value_of_its_own_and_no_wildcard():
    record(key(model=""), check_failed=True)
    record(key(model="m1"), check_failed=True)
    assert lookup(key(model=""), 0.95, **SETTINGS).n == 1


@pytest.mark.django_db
def test_testing_counts_unless_production_alone_is_asked_for_and_replays_never_do():
    for stage in ("production", "testing"):
        record(key(), check_failed=True, stage=stage)
        record(key(), check_failed=True, stage=stage, is_replay=True)
    assert lookup(key(), 0.95, **SETTINGS).n == 2
    assert lookup(key(), 0.95, **SETTINGS, evidence="production").n == 1


@pytest.mark.django_db
def test_validated_from_n_min_on():
    marked(key(), 0.95, "ccc")
    assert lookup(key(), 0.95, n_min=3, bin_width=0.1).validated
    assert not lookup(key(), 0.95, n_min=4, bin_width=0.1).validated


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "named"),
    [({"bin_width": 0.3}, "bin_width"), ({"confidence": 1.2}, "confidence"), ({"evidence": "test"}, "evidence")],
)
def test_a_lookup_outside_its_range_is_refused_by_name(change, named):
    given = {"confidence": 0.95, **SETTINGS} | change
    with pytest.raises(ValueError, match=named):
        lookup(key(), given.pop("confidence"), **given)


@pytest.mark.django_db
def test_the_same_sample_again_changes_nothing():
    sample = record(key(), 0.95)
    record(key(step="other"), 0.11, id=sample, check_failed=True)
    stored = Sample.objects.get()
    assert (stored.bucket.step, stored.confidence, stored.label) == ("triage", 0.95, None)


@pytest.mark.django_db
def test_the_same_sample_again_takes_back_no_mark():
    sample = record(key(), 0.95, check_failed=True)
    mark_sample(sample_id=sample, by=person(), outcome="correct", via="api", now=NOW)
    record(key(), 0.95, id=sample, check_failed=True)
    assert list(Sample.objects.values_list("label", "label_source")) == [(1.0, "step_mark")]


@pytest.mark.django_db
def test_a_sample_is_stored_whole():
    given = {"id": uuid.uuid4(), "group": uuid.uuid4(), "stage": "testing", "observed_at": NOW}
    record(key(), 0.1 + 0.2, check_failed=True, is_replay=True, **given)
    stored = Sample.objects.get(pk=given["id"])
    assert (stored.group, stored.stage, stored.observed_at) == (given["group"], "testing", NOW)
    assert (stored.confidence, stored.confidence_ppm) == (0.1 + 0.2, 300_000)
    assert (stored.check_failed, stored.is_replay) == (True, True)
    assert (stored.label, stored.label_source) == (0.0, "failed_check")


@pytest.mark.django_db
@pytest.mark.parametrize("confidence", [1.5, -0.1, float("nan"), True, "0.9", None])
def test_a_sample_without_a_confidence_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        record(key(), confidence)


@pytest.mark.django_db
def test_recording_is_one_insert_and_a_lookup_one_select(django_assert_num_queries):
    bucket = bucket_id(key())
    given = {"group": uuid.uuid4(), "stage": "production", "confidence": 0.9, "observed_at": NOW, "check_failed": False}
    with django_assert_num_queries(1):
        buckets.record_sample(id=uuid.uuid4(), bucket_id=bucket, **given)
    with django_assert_num_queries(4):  # the row, two sums, its label
        buckets.record_sample(id=uuid.uuid4(), bucket_id=bucket, **given | {"check_failed": True})
    with django_assert_num_queries(1):
        lookup(bucket, 0.9, **SETTINGS)


@pytest.mark.django_db(transaction=True)
def test_the_id_of_a_committed_bucket_is_remembered(django_assert_num_queries):
    made = bucket_id(key())
    with django_assert_num_queries(0):
        assert bucket_id(key()) == find_bucket(key()) == made


@pytest.mark.django_db(transaction=True)
def test_the_id_of_a_bucket_that_was_rolled_back_is_forgotten():
    with transaction.atomic():
        bucket_id(key())
        assert bucket_id(key()) is not None  # found inside the transaction, and still not remembered
        transaction.set_rollback(True)
    assert find_bucket(key()) is None
    Bucket.objects.create(step="takes the number the other had", agent="a")
    record(key())
    assert Sample.objects.get().bucket.step == "triage"


@pytest.mark.django_db(transaction=True)
def test_ids_are_forgotten_when_the_tables_are_emptied():
    bucket_id(key())
    call_command("flush", interactive=False, verbosity=0)
    assert find_bucket(key()) is None


@pytest.mark.django_db(transaction=True)
def test_ids_found_inside_a_test_that_rolls_back_are_not_remembered(django_capture_on_commit_callbacks):
    with transaction.atomic():
        with django_capture_on_commit_callbacks(execute=True):
            bucket_id(key())
        assert buckets._ids == {}
        transaction.set_rollback(True)


@pytest.mark.django_db
def test_names_no_database_would_take_are_kept_visibly():
    record(key(agent="gateway:a\x00b\ud800"))
    assert Bucket.objects.get().agent == "gateway:a\\u0000b\\ud800"
    assert find_bucket(key(agent="gateway:a\x00b\ud800")) is not None


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("width", "index"), [(0.1, "tally_of_ten_unique"), (0.05, "tally_unique"), (0.125, "sample_evidence")]
)
def test_the_lookup_reads_one_range_of_an_index(width, index):
    owner = bucket_id(key())
    for hundredth in range(100):
        record(key(), hundredth / 100, check_failed=True)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # A small table needs no index otherwise, and which of two it takes depends on what is known of the rows.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("ANALYZE calibration_sample, calibration_tally, calibration_tallyoften")
            assert index in _plan(cursor, "EXPLAIN ", owner, width)
        else:
            # Of samples there are many, so the index alone must do.
            how = "USING COVERING INDEX" if index == "sample_evidence" else "USING INDEX"
            plan = _plan(cursor, "EXPLAIN QUERY PLAN ", owner, width)
            assert f"{how} {_named(index)}" in plan
            assert plan.count(">? AND") == 1  # a range of the index, not a filter over the bucket


def _named(index):
    # SQLite gives the index behind a constraint a name of its own.
    tables = {"tally_unique": "calibration_tally", "tally_of_ten_unique": "calibration_tallyoften"}
    return f"sqlite_autoindex_{tables[index]}_1" if index in tables else index


def _plan(cursor, explain, owner, width):
    captured = []

    def grab(execute, sql, params, many, context):
        captured.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(grab):
        lookup(owner, 0.95, n_min=20, bin_width=width)
    ((sql, params),) = captured
    values = [f"'{value}'" if isinstance(value, str) else str(value) for value in params]
    cursor.execute(explain + sql % tuple(values))
    return "\n".join(str(row) for row in cursor.fetchall())


@pytest.mark.django_db
def test_a_sample_observed_before_its_run_was_marked_and_one_after_have_the_same_label():
    from calibration.labels import mark_group

    group = uuid.uuid4()
    early = record(key(), group=group, observed_at=NOW - timedelta(minutes=2))
    mark_group(group=group, by=person(), outcome="correct", via="api", now=NOW)
    late = record(key(), group=group, observed_at=NOW + timedelta(minutes=2))
    labels = Sample.objects.filter(pk__in=[early, late]).values_list("label", "label_source")
    assert list(labels) == [(1.0, "run_mark")] * 2
