"""GET /steps/{name}/calibration."""

import pytest

from calibration.labels import mark_sample
from runs.models import Role
from tests.calibration.factories import NOW, key, person, record
from tests.runs.engine.rows import a_run, a_step
from tests.runs.intake_factories import bearer

pytestmark = pytest.mark.django_db
PATH = "/steps/triage/calibration"


def get(client, path=PATH, role=Role.VIEWER, **query):
    return client.get(path, query, headers=bearer(role))


def marked(outcomes, confidence=0.95, bucket=None, **given):
    anna, words = person(), {"c": "correct", "p": "partial", "i": "incorrect"}
    for letter in outcomes:
        sample = record(bucket or key(), confidence, **given)
        mark_sample(sample_id=sample, by=anna, outcome=words[letter], via="api", now=NOW)


def test_a_record_worked_by_hand(client):
    marked("cccp", 0.9)
    marked("i", 0.3)
    body = get(client, n_min=4).json()
    assert body["step_name"] == "triage"
    (bucket,) = body["buckets"]
    bins = bucket.pop("bins")
    # accuracy 3.5 / 4 = 0.875 at 0.9, and 0 of 1 at 0.3:
    # ECE = (4 x |0.875 - 0.9| + 1 x |0 - 0.3|) / 5 = (0.1 + 0.3) / 5
    # Brier = (3 x 0.1^2 + 0.4^2 + 0.3^2) / 5 = (0.03 + 0.16 + 0.09) / 5
    assert (bucket.pop("ece"), bucket.pop("brier")) == (pytest.approx(0.08), pytest.approx(0.056))
    assert bucket == {
        "agent": "command:triage",
        "provider": "p1",
        "model": "m1",
        "prompt_hash": "",
        "agent_version": "",
        "total_n": 5,
        "recommendation": None,
    }
    assert [(one["lo"], one["hi"]) for one in bins] == [(index / 10, (index + 1) / 10) for index in range(10)]
    empty = {"n": 0, "mean_label": None, "mean_confidence": None, "interval": None, "validated": False}
    assert bins[0] == {"lo": 0.0, "hi": 0.1, **empty}
    # Wilson for 0.875 of 4, z² = 3.841459: centre 0.875 + z²/8 = 1.355182, spread
    # z sqrt(0.109375/4 + z²/64) = 0.579323, both over 1 + z²/4 = 1.960365
    assert bins[9] == {
        "lo": 0.9,
        "hi": 1.0,
        "n": 4,
        "mean_label": 0.875,
        "mean_confidence": pytest.approx(0.9),
        "interval": [pytest.approx(0.395773, abs=1e-6), pytest.approx(0.986809, abs=1e-6)],
        "validated": True,
    }
    assert (bins[3]["n"], bins[3]["mean_label"], bins[3]["validated"]) == (1, 0.0, False)


def test_what_the_farthest_bin_suggests(client):
    marked("ccci" * 5, 0.9)
    (bucket,) = get(client).json()["buckets"]
    assert bucket["recommendation"] == (
        "Runs scoring ~90% here are only 75% correct: raise the threshold, change the model, or add grounding."
    )


def test_stages_are_asked_for(client):
    marked("c")
    marked("i", stage="testing")
    totals = {stage: get(client, stage=stage).json()["buckets"][0] for stage in ("all", "production", "testing")}
    assert {stage: bucket["total_n"] for stage, bucket in totals.items()} == {"all": 2, "production": 1, "testing": 1}
    assert totals["testing"]["bins"][9]["mean_label"] == 0.0


@pytest.mark.parametrize(("width", "bins"), [("0.25", 4), ("0.05", 20), ("1", 1), ("0.125", 8), ("0.001", 1000)])
def test_any_width_that_divides_1(client, width, bins):
    marked("cci", 0.3)
    (bucket,) = get(client, bin_width=width).json()["buckets"]
    assert len(bucket["bins"]) == bins
    assert [one["n"] for one in bucket["bins"] if one["lo"] <= 0.3 < one["hi"]] == [3]


@pytest.mark.parametrize("width", ["0.3", "0", "-0.1", "nan", "inf", "x", "2", "0.0001", "1e-999999999", "", "0,1"])
def test_any_other_width_is_400(client, width):
    answer = get(client, bin_width=width)
    assert (answer.status_code, answer.json()["field"]) == (400, "bin_width")


@pytest.mark.parametrize(("name", "value"), [("n_min", "0"), ("n_min", "many"), ("stage", "live"), ("width", "0.1")])
def test_a_typo_is_400(client, name, value):
    answer = get(client, **{name: value})
    assert (answer.status_code, answer.json()["field"]) == (400, name)
    assert answer.json()["allowed"]


def test_the_service_sets_what_is_not_asked_for(client, service):
    service(calibration={"n_min": 1, "bin_width": 0.5})
    marked("c")
    (bucket,) = get(client).json()["buckets"]
    assert [one["validated"] for one in bucket["bins"]] == [False, True]


def test_names_with_slashes(client):
    marked("c", bucket=key(step="investigate/logs"))
    assert get(client, "/steps/investigate/logs/calibration").json()["step_name"] == "investigate/logs"


def test_a_step_that_ran_without_a_record_has_no_bucket(client):
    a_step(a_run(), name="notify")
    assert get(client, "/steps/notify/calibration").json() == {"step_name": "notify", "buckets": []}


@pytest.mark.parametrize("name", ["nothing", "triag%00", "x" * 3000])
def test_an_unknown_step_is_404(client, name):
    answer = get(client, f"/steps/{name}/calibration")
    assert answer.status_code == 404
    assert "No step called" in answer.json()["error"]


def test_it_needs_a_viewer(client):
    assert client.get(PATH).status_code == 401
    assert get(client, role=Role.INTAKE).status_code == 403


def test_the_queries_do_not_grow_with_buckets_or_labels(client, django_assert_num_queries):
    headers = bearer(Role.VIEWER)
    marked("ci")
    client.get(PATH, headers=headers)

    def queries():
        with django_assert_num_queries(2):  # buckets, tallies; the token is remembered
            assert client.get(PATH, headers=headers).status_code == 200

    queries()
    for number in range(12):
        marked("ci", bucket=key(prompt_hash=f"{number}"))
    queries()
