import uuid

import pytest

from calibration.buckets import BucketKey
from calibration.labels import mark_group, mark_sample
from calibration.models import Sample
from calibration.summary import summaries
from tests.calibration.factories import NOW, key, person, record

pytestmark = pytest.mark.django_db
ASKED = {"bin_width": 0.1, "n_min": 4}
WORDS = {"c": "correct", "p": "partial", "i": "incorrect"}


def marked(bucket: BucketKey, confidence: float, outcomes: str, **given: object) -> None:
    anna = person()
    for letter in outcomes:
        sample = record(bucket, confidence, **given)
        if letter != "-":
            mark_sample(sample_id=sample, by=anna, outcome=WORDS[letter], via="queue", now=NOW)


def test_a_bucket_without_a_label_is_there_and_knows_nothing():
    marked(key(), 0.9, "-")
    (found,) = summaries(**ASKED)
    assert (found.key, found.total_n, found.ece, found.brier, found.recommendation) == (key(), 0, None, None, None)
    assert len(found.bins) == 10
    assert found.flags == []


def test_where_the_labels_come_from():
    group = uuid.uuid4()
    marked(key(), 0.9, "cc")
    record(key(), 0.9, check_failed=True)
    for _ in range(3):
        record(key(), 0.2, group=group)
    mark_group(group=group, by=person(), outcome="partial", via="page", now=NOW)
    (found,) = summaries(**ASKED)
    assert (found.total_n, found.by_step_mark, found.by_failed_check, found.by_run_mark) == (6, 2, 1, 3)


def test_flags_come_farthest_first_and_the_one_the_interval_supports_is_recommended():
    marked(key(), 0.95, "iiii")  # 95 points over
    marked(key(), 0.35, "cccc")  # 65 points under
    marked(key(), 0.55, "cp")  # not validated
    (found,) = summaries(**ASKED)
    assert [(one.direction, one.lo) for one in found.flags] == [("over", 0.9), ("under", 0.3)]
    assert found.recommendation == (
        "Runs scoring ~95% here are only 0% correct: raise the threshold, change the model, or add grounding."
    )


def test_a_flag_the_interval_bears_out_is_recommended_before_a_wider_one_it_does_not():
    marked(key(), 0.84, "ccii")  # 34 points; Wilson of 2 of 4 is [0.150, 0.850]
    marked(key(), 0.95, "c" * 15 + "i" * 5)  # 20 points; Wilson of 15 of 20 is [0.531, 0.888]
    (found,) = summaries(**ASKED)
    assert [(one.lo, one.supported) for one in found.flags] == [(0.8, False), (0.9, True)]
    assert found.recommendation.startswith("Runs scoring ~95% here are only 75% correct")


def test_an_agent_that_undersells_itself():
    marked(key(), 0.35, "cccc")
    (found,) = summaries(**ASKED)
    assert found.recommendation == (
        "Runs scoring ~35% here are actually 100% correct: the threshold may be lower, or let calibration be enforced."
    )


def test_buckets_are_chosen_by_step_agent_and_id():
    for bucket in (key(), key(agent="command:other"), key(step="decide")):
        marked(bucket, 0.9, "c")
    everything = summaries(**ASKED)
    assert [(one.key.step, one.key.agent) for one in everything] == [
        ("decide", "command:triage"),
        ("triage", "command:other"),
        ("triage", "command:triage"),
    ]
    assert summaries(step="triage", **ASKED) == everything[1:]
    assert summaries(agent="command:triage", **ASKED) == [everything[0], everything[2]]
    assert summaries(step="triage", agent="command:other", **ASKED) == [everything[1]]
    assert summaries(bucket_ids=[everything[2].bucket_id], **ASKED) == [everything[2]]
    assert summaries(bucket_ids=[], **ASKED) == []
    assert summaries(step="unknown", **ASKED) == []


def test_stages():
    marked(key(), 0.9, "c")
    marked(key(), 0.9, "ii", stage="testing")
    totals = {stage: summaries(stage=stage, **ASKED)[0].total_n for stage in ("all", "production", "testing")}
    assert totals == {"all": 3, "production": 1, "testing": 2}


@pytest.mark.parametrize("width", [0.1, 0.125])  # from tallies; from the samples
def test_replays_never_count(width):
    marked(key(), 0.9, "c", is_replay=True)
    assert summaries(**ASKED | {"bin_width": width})[0].total_n == 0


@pytest.mark.parametrize("width", [1.0, 0.5, 0.25, 0.2, 0.1, 0.05, 0.01, 0.125, 0.0625, 0.001])
def test_tallies_and_samples_say_the_same(width):
    anna = person()
    for number, letter in enumerate("cpicciccpi-" * 4):
        sample = record(key(), number / 43, check_failed=number % 7 == 0)
        if letter != "-":
            mark_sample(sample_id=sample, by=anna, outcome=WORDS[letter], via="queue", now=NOW)
    (found,) = summaries(bin_width=width, n_min=4)
    for one in found.bins:
        within = Sample.objects.filter(label__isnull=False, confidence__gte=one.lo, confidence__lt=one.hi)
        if one.hi == 1.0:
            within |= Sample.objects.filter(label__isnull=False, confidence=1.0)
        rows = list(within.values_list("confidence_ppm", "label"))
        assert one.n == len(rows)
        if rows:
            assert one.mean_label == pytest.approx(sum(label for _, label in rows) / len(rows))
            assert one.mean_confidence == pytest.approx(sum(ppm for ppm, _ in rows) / len(rows) / 1_000_000)


@pytest.mark.parametrize("width", [0.1, 0.125])
def test_two_queries_however_many_buckets(django_assert_num_queries, width):
    for number in range(20):
        marked(key(prompt_hash=f"{number}"), number / 20, "c")
        if number in {0, 19}:
            with django_assert_num_queries(2):
                summaries(bin_width=width, n_min=20)
            with django_assert_num_queries(2):
                summaries(step="triage", bin_width=width, n_min=20)


@pytest.mark.parametrize(("field", "value"), [("bin_width", 0.3), ("stage", "live")])
def test_what_is_not_allowed_is_refused(field, value):
    with pytest.raises(ValueError, match=field):
        summaries(**ASKED | {field: value})
