import json

import pytest
from django.test import Client
from django.utils import timezone

from runs.access import tokens
from runs.models import Role

URL = "/api/trust/evaluate"
WORKED_EXAMPLE = {
    "self_report": 0.95,
    "verifier": {"score": 0.85, "combination_strategy": "veto", "veto_floor": 0.60},
    "calibration": {"enforce": True, "on_uncalibrated": "proceed", "n": 50, "n_min": 20, "accuracy": 0.62},
    "grounding": {"enforce": True, "score": 0.50},
    "checks": [{"name": "still_breaching", "passed": True}],
    "confidence_threshold": 0.75,
    "on_low_confidence": "escalate",
}


def client(role: Role) -> Client:
    _, secret = tokens.create(team="payments", role=role, now=timezone.now())
    return Client(headers={"Authorization": f"Bearer {secret}"})


@pytest.fixture
def viewer(db):
    return client(Role.VIEWER)


def post(viewer, body):
    text = body if isinstance(body, str | bytes) else json.dumps(body)
    return viewer.post(URL, text, content_type="application/json")


def changed(path, value):
    """The worked example with one value replaced, as JSON text; ``value`` is JSON text too."""
    body = json.loads(json.dumps(WORKED_EXAMPLE))
    *parents, last = path
    place = body
    for step in parents:
        place = place[step]
    place[last] = "@@"
    return json.dumps(body).replace('"@@"', value)


def test_the_worked_example(viewer):
    answer = post(viewer, WORKED_EXAMPLE)
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"combined_trust", "cleared", "action", "stages", "narrative"}
    assert (body["combined_trust"], body["cleared"], body["action"]) == (0.50, False, "escalate")
    assert [(stage["stage"], stage["after"]) for stage in body["stages"]] == [
        ("self_report", 0.95),
        ("verifier", 0.95),
        ("calibration", 0.62),
        ("grounding", 0.50),
        ("checks", 0.50),
        ("gate", 0.50),
    ]
    assert body["narrative"][0] == "The agent reported 95%."
    assert body["narrative"][-1] == "50% is below the threshold of 75%, so a person decides."


def test_the_same_question_is_answered_byte_for_byte_the_same(viewer):
    assert post(viewer, WORKED_EXAMPLE).content == post(viewer, WORKED_EXAMPLE).content


def test_a_self_report_alone_is_enough(viewer):
    # The threshold is 0.75 and low confidence escalates where nothing else is said.
    body = post(viewer, {"self_report": 0.75}).json()
    assert (body["combined_trust"], body["cleared"], body["action"]) == (0.75, True, "none")
    assert post(viewer, {"self_report": 0.7499}).json()["action"] == "escalate"


def test_null_means_there_is_none(viewer):
    nothing = {"verifier": None, "calibration": None, "grounding": None, "checks": []}
    assert post(viewer, {"self_report": 0.9, **nothing}).json()["combined_trust"] == 0.9
    silent = post(viewer, {"self_report": None, **nothing}).json()
    assert (silent["combined_trust"], silent["cleared"], silent["action"]) == (None, True, "none")


def test_a_score_of_null_is_a_missing_signal(viewer):
    ignored = post(viewer, {"self_report": 0.9, "verifier": {"score": None}}).json()
    assert (ignored["combined_trust"], ignored["action"]) == (0.9, "none")
    assert ignored["stages"][1]["reason"] == "missing"
    asked = post(viewer, {"self_report": 0.9, "grounding": {"score": None, "on_error": "escalate"}}).json()
    assert (asked["combined_trust"], asked["action"]) == (0.9, "escalate")


def test_n_min_is_the_services_own_unless_given(viewer):
    record = {"enforce": True, "n": 20, "accuracy": 0.4}  # the service's n_min is 20
    assert post(viewer, {"self_report": 0.9, "calibration": record}).json()["combined_trust"] == 0.4
    record |= {"n": 19}
    assert post(viewer, {"self_report": 0.9, "calibration": record}).json()["combined_trust"] == 0.9


UNITS = [
    ("self_report",),
    ("verifier", "score"),
    ("verifier", "veto_floor"),
    ("calibration", "accuracy"),
    ("grounding", "score"),
    ("confidence_threshold",),
]
NO_UNITS = ["NaN", "Infinity", "-Infinity", "1e999", "true", "false", '"0.9"', '"high"', "95", "-0.1", "1.0000001",
            "[]", "{}", '""', "1" + "0" * 400]  # fmt: skip


@pytest.mark.parametrize("path", UNITS, ids=".".join)
@pytest.mark.parametrize("value", NO_UNITS)
def test_what_is_no_number_from_0_to_1_is_refused_by_name(viewer, path, value):
    answer = post(viewer, changed(path, value))
    assert (answer.status_code, answer.json()["field"]) == (400, ".".join(path))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verifier", "combination_strategy"), '"average"'),
        (("verifier", "combination_strategy"), "null"),
        (("verifier", "combination_strategy"), '["veto"]'),
        (("calibration", "enforce"), "1"),
        (("calibration", "enforce"), '"true"'),
        (("calibration", "enforce"), "null"),
        (("calibration", "on_uncalibrated"), '"abort"'),
        (("calibration", "n"), "-1"),
        (("calibration", "n"), "2.0"),
        (("calibration", "n"), "true"),
        (("calibration", "n"), "null"),
        (("calibration", "n"), "1" + "0" * 300),
        (("calibration", "n_min"), "0"),
        (("calibration", "n_min"), "null"),
        (("calibration", "accuracy"), "null"),  # 50 results and no accuracy cannot be
        (("grounding", "enforce"), '"no"'),
        (("on_low_confidence",), '"ignore"'),
        (("on_low_confidence",), "null"),
        (("confidence_threshold",), "null"),
        (("verifier", "veto_floor"), "null"),
        (("checks",), "null"),
        (("checks",), "{}"),
        (("verifier",), "[]"),
        (("verifier",), '"critic"'),
        (("calibration",), "false"),
        (("verifier", "mode"), '"critic"'),
        (("verifier", "on_error"), '"abort"'),
        (("grounding", "Score"), "0.5"),
        (("self-report",), "0.5"),
        (("calibration", "bin_width"), "0.1"),
    ],
)
def test_anything_else_outside_the_contract_is_refused_by_name(viewer, path, value):
    answer = post(viewer, changed(path, value))
    assert (answer.status_code, answer.json()["field"]) == (400, ".".join(path))


@pytest.mark.parametrize(
    ("check", "field"),
    [
        ({"name": "a", "passed": 1}, "checks.1.passed"),
        ({"name": "a", "passed": "true"}, "checks.1.passed"),
        ({"name": "a", "passed": None}, "checks.1.passed"),
        ({"name": "a"}, "checks.1.passed"),
        ({"name": "", "passed": True}, "checks.1.name"),
        ({"name": 5, "passed": True}, "checks.1.name"),
        ({"passed": True}, "checks.1.name"),
        ({"name": "a", "passed": True, "weight": 1}, "checks.1.weight"),
        ("a", "checks.1"),
    ],
)
def test_the_check_that_is_wrong_is_named(viewer, check, field):
    answer = post(viewer, WORKED_EXAMPLE | {"checks": [{"name": "fine", "passed": True}, check]})
    assert (answer.status_code, answer.json()["field"]) == (400, field)


@pytest.mark.parametrize(
    "path", [("self_report",), ("verifier", "score"), ("grounding", "score"), ("calibration", "n")]
)
def test_a_missing_field_without_a_default_is_named(viewer, path):
    body = json.loads(json.dumps(WORKED_EXAMPLE))
    place = body if len(path) == 1 else body[path[0]]
    del place[path[-1]]
    answer = post(viewer, body)
    assert (answer.status_code, answer.json()["field"]) == (400, ".".join(path))


def test_an_empty_body_lacks_the_first_field(viewer):
    answer = post(viewer, "")
    assert (answer.status_code, answer.json()["field"]) == (400, "self_report")


@pytest.mark.parametrize("body", ["{", "[]", "null", "0.9", "[" * 100_000, b"\xff", "9" * 5000])
def test_a_body_that_is_no_json_object_is_refused(viewer, body):
    answer = post(viewer, body)
    assert answer.status_code == 400
    assert "body" in answer.json()["error"].lower()


def test_a_field_given_twice_is_refused(viewer):
    answer = post(viewer, '{"self_report": 0.2, "self_report": 0.9}')
    assert (answer.status_code, answer.json()["field"]) == (400, "self_report")


@pytest.mark.parametrize("character", ["\\u0000", "\\ud800"])
def test_characters_no_text_may_hold_are_refused_and_do_not_break_the_answer(viewer, character):
    answer = post(viewer, f'{{"self_report": 0.9, "checks": [{{"name": "a{character}b", "passed": false}}]}}')
    assert (answer.status_code, answer.json()["field"]) == (400, "checks.0.name")
    assert post(viewer, f'{{"self_report": 0.9, "{character}": 1}}').status_code == 400


def test_it_takes_a_viewer(db):
    assert post(Client(), WORKED_EXAMPLE).status_code == 401
    assert post(client(Role.INTAKE), WORKED_EXAMPLE).status_code == 403
    assert post(client(Role.ADMIN), WORKED_EXAMPLE).status_code == 200


def test_only_post(viewer):
    assert viewer.get(URL).status_code == 405


def test_a_body_over_the_limit_is_413(viewer):
    assert post(viewer, " " * 1_000_001 + "{}").status_code == 413
