"""How many labels single bins have, and their mean."""

import pytest

from calibration import buckets
from calibration.buckets import bucket_id
from calibration.labels import mark_sample
from calibration.standings import Place, Standing, standings
from tests.calibration.factories import NOW, key, person, record

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _forget_ids():
    yield
    buckets.forget_ids()


def marked(bucket, confidence, outcome, **given):
    mark_sample(sample_id=record(bucket, confidence, **given), by=person(), outcome=outcome, via="api", now=NOW)


@pytest.mark.parametrize("width", [0.1, 0.05, 0.125])  # from tallies of tenths, of percents; from the samples
def test_each_bin_has_its_own_labels_and_no_others(width):
    one, other = key(), key(step="other")
    for outcome in ("correct", "correct", "partial", "incorrect"):
        marked(one, 0.95, outcome)
    marked(one, 0.3, "incorrect")
    marked(other, 1.0, "correct")
    record(one, 0.95)
    marked(one, 0.95, "incorrect", is_replay=True)
    last = round(1 / width) - 1
    first = Place(bucket_id(one), last)
    found = standings([first, Place(bucket_id(one), 0), Place(bucket_id(other), last)], bin_width=width)
    assert found == {
        first: Standing(4, 0.625),  # (1 + 1 + 0.5 + 0) / 4
        Place(bucket_id(one), 0): Standing(0, None),
        Place(bucket_id(other), last): Standing(1, 1.0),
    }


@pytest.mark.parametrize("width", [0.1, 0.05, 0.125])
def test_a_label_on_an_edge_is_in_the_bin_above_it(width):
    for edge in (2 * width, 3 * width):
        marked(key(), edge, "correct")
    places = [Place(bucket_id(key()), index) for index in range(1, 5)]
    found = standings(places, bin_width=width)
    assert [found[place].n for place in places] == [0, 1, 1, 0]


@pytest.mark.parametrize("width", [0.1, 0.125])
def test_labels_of_testing_runs_may_be_left_out_as_the_gate_does(width):
    marked(key(), 1.0, "correct", stage="testing")
    marked(key(), 1.0, "incorrect", stage="production")
    place = Place(bucket_id(key()), round(1 / width) - 1)
    assert standings([place], bin_width=width)[place] == Standing(2, 0.5)
    assert standings([place], bin_width=width, evidence="production")[place] == Standing(1, 0.0)


def test_nothing_asked_is_nothing_answered():
    assert standings([], bin_width=0.1) == {}


def test_unknown_evidence_or_width_is_refused():
    with pytest.raises(ValueError, match="evidence"):
        standings([Place(1, 0)], bin_width=0.1, evidence="none")
    with pytest.raises(ValueError, match="divide"):
        standings([Place(1, 0)], bin_width=0.3)


def test_many_bins_are_one_query(django_assert_num_queries):
    places = [Place(bucket_id(key(step=str(number))), 9) for number in range(30)]
    with django_assert_num_queries(1):
        standings(places, bin_width=0.1)
