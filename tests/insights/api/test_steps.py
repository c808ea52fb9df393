"""GET /steps and GET /steps/{name}."""

from typing import Any

import pytest
from django.test import Client

from runs.models import Role
from tests import factories
from tests.insights.history import answer, answers, key
from tests.runs.intake_factories import bearer

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def four_are_enough(service: Any) -> None:
    service(calibration={"n_min": 4})


def get(client: Client, path: str, **query: Any) -> Any:
    return client.get(path, query, headers=bearer(Role.VIEWER))


def test_the_steps_with_what_is_known_of_each(client: Client) -> None:
    answers("ccci", 0.95, by=factories.user(), bucket=key(step="refund"))
    answer(key(step="a/b", agent="command:other"))
    first, second = get(client, "/steps").json()["steps"]
    assert first == {
        "step_name": "a/b", "agents": ["command:other"], "buckets": 1, "labelled": 0, "validated_bins": 0, "flags": 0,
        "worst": None,
    }  # fmt: skip
    worst = second.pop("worst")
    assert second == {
        "step_name": "refund", "agents": ["command:assess"], "buckets": 1, "labelled": 4, "validated_bins": 1,
        "flags": 1,
    }  # fmt: skip
    assert worst["sentence"] == "runs scoring ~95% here are only 75% correct"
    # Wilson of 3 in 4 is 30 to 95.4 %, which still holds 95 %
    assert (worst["direction"], worst["supported"]) == ("over", False)


def test_pages_by_name(client: Client) -> None:
    for name in ("c", "a", "b"):
        answer(key(step=name))
    first = get(client, "/steps", limit=2).json()
    assert ([one["step_name"] for one in first["steps"]], first["next"]) == (["a", "b"], "b")
    second = get(client, "/steps", limit=2, after=first["next"]).json()
    assert ([one["step_name"] for one in second["steps"]], second["next"]) == (["c"], None)


def test_only_those_of_an_agent(client: Client) -> None:
    answer(key(step="a"))
    answer(key(step="b", agent="command:other"))
    found = get(client, "/steps", agent="command:other").json()
    assert [one["step_name"] for one in found["steps"]] == ["b"]


def test_one_step(client: Client) -> None:
    olga = factories.user()
    answers("ccpi", 0.9, by=olga, bucket=key(step="group/name"), shown=0.5)
    body = get(client, "/steps/group/name").json()
    assert (body["pipeline"], body["confidence_threshold"]) == ("checkout-error-rate", 0.75)
    [record] = body["records"]
    # 2.5 of 4
    assert (record["accuracy"]["n"], record["accuracy"]["value"], record["mean_confidence"]) == (4, 0.625, 0.9)
    assert (record["in_use"], record["labels"]["step_mark"], len(record["flags"])) == (True, 4, 1)
    shown = body["said_against_shown"]
    assert (shown["n"], shown["would_be_capped"]["value"], shown["would_fall"]["value"]) == (4, 1.0, 1.0)


def test_nothing_known_is_null(client: Client) -> None:
    answer()
    body = get(client, "/steps/assess").json()
    assert body["records"][0]["accuracy"] == {"n": 0, "value": None, "interval": None}
    assert (body["records"][0]["mean_confidence"], body["said_against_shown"]) == (None, None)


def test_a_step_without_confidence_has_no_records(client: Client) -> None:
    factories.step(factories.run(), "notify", agent="")
    body = get(client, "/steps/notify").json()
    assert (body["records"], body["confidence_threshold"]) == ([], None)


@pytest.mark.parametrize("path", ["/steps/nope", "/steps/a%00b"])
def test_an_unknown_step_is_404(client: Client, path: str) -> None:
    assert get(client, path).status_code == 404


@pytest.mark.parametrize(
    ("query", "field"),
    [({"stage": "prod"}, "stage"), ({"limit": 0}, "limit"), ({"x": 1}, "x"), ({"after": ""}, "after")],
)
def test_a_typo_is_400(client: Client, query: dict[str, Any], field: str) -> None:
    response = get(client, "/steps", **query)
    assert (response.status_code, response.json()["field"]) == (400, field)


def test_the_number_of_queries_does_not_grow(client: Client, django_assert_num_queries: Any) -> None:
    olga = factories.user()
    for n in range(20):
        answers("ci", 0.9, by=olga, bucket=key(prompt_hash=str(n)), shown=0.4)
    headers = bearer(Role.VIEWER)
    client.get("/steps", headers=headers)  # the token is known from here on
    # of all buckets how they stand, when each answered last, their keys; of those shown keys, sums, the last answer
    with django_assert_num_queries(5):
        client.get("/steps", headers=headers)
    # the step's buckets (2), newest answers, newest step, judged ones, and the three above
    with django_assert_num_queries(7):
        client.get("/steps/assess", headers=headers)
