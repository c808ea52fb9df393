import datetime as dt
import uuid
from typing import Any

import pytest
from django.test import Client

from calibration.buckets import bucket_id
from tests import factories
from tests.factories import NOW
from tests.insights.history import answer, answers, key
from tests.insights.views.reading import html

pytestmark = pytest.mark.django_db


def page(**query: Any) -> str:
    given = {"bucket": bucket_id(key()), **query}
    return "/ui/insights/samples?" + "&".join(f"{name}={value}" for name, value in given.items())


def test_a_bin_holds_its_lower_edge_and_not_its_upper_one(viewer: Client) -> None:
    olga = factories.user()
    steps = {said: answers("c", said, by=olga)[0] for said in (0.3, 0.39, 0.4, 1.0)}

    def shown(index: int) -> set[float]:
        text = html(viewer, page(bin=index))
        return {said for said, step in steps.items() if str(step.run_id) in text}

    assert (shown(3), shown(4), shown(9)) == ({0.3, 0.39}, {0.4}, {1.0})


def test_both_sides_of_a_threshold(viewer: Client) -> None:
    olga = factories.user()
    steps = {said: answers("c", said, by=olga)[0] for said in (0.289999, 0.29, 0.3)}

    def shown(**query: Any) -> set[float]:
        text = html(viewer, page(**query))
        return {said for said, step in steps.items() if str(step.run_id) in text}

    assert (shown(below=0.29), shown(least=0.29)) == ({0.289999}, {0.29, 0.3})
    # Finer than a confidence is stored: what is stored as .29 is below.
    assert (shown(below=0.2900001), shown(least=0.2900001)) == ({0.289999, 0.29}, {0.3})
    assert "saying less than 29%" in html(viewer, page(below=0.29))
    assert "saying 29% or more" in html(viewer, page(least=0.29))


def test_what_the_label_says_and_who_gave_it(viewer: Client) -> None:
    olga, pete = factories.user("olga"), factories.user("pete")
    answer(marks={olga: "correct", pete: "incorrect"})
    answer(check=False)
    text = html(viewer, page())
    assert "Mixed, 50%" in text
    assert "<bdi>olga</bdi>: correct" in text
    assert "a check failed" in text


def test_which_answers_are_shown(viewer: Client) -> None:
    olga = factories.user()
    found = {letter: answers(letter, 0.95, by=olga)[0] for letter in "cip"}
    found["-"] = answer()
    answer(is_replay=True)

    def shown(show: str) -> set[str]:
        text = html(viewer, page(show=show))
        return {letter for letter, step in found.items() if str(step.run_id) in text}

    assert (shown("labelled"), shown("wrong"), shown("right"), shown("unlabelled")) == (
        {"c", "i", "p"},
        {"i"},
        {"c"},
        {"-"},
    )


def test_the_stage_is_kept_apart(viewer: Client) -> None:
    olga = factories.user()
    here, there = (answers("c", 0.95, by=olga, stage=stage)[0] for stage in ("testing", "production"))
    text = html(viewer, page(stage="testing"))
    assert (str(here.run_id) in text, str(there.run_id) in text) == (True, False)


def test_pages_neither_repeat_nor_lose_answers_of_one_moment(viewer: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr("insights.evidence.PAGE", 2)
    olga = factories.user()
    steps = answers("ccc", 0.95, by=olga) + answers("cc", 0.95, by=olga, at=NOW - dt.timedelta(hours=1))
    seen, address = [], page()
    while address:
        text = html(viewer, address)
        seen += [step.pk for step in steps if str(step.run_id) in text]
        older = text.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0] if 'rel="next"' in text else ""
        address = older and f"/ui/insights/samples{older}"
    assert sorted(seen) == sorted(step.pk for step in steps)


def test_nothing_there_is_said(viewer: Client) -> None:
    answer()
    assert "No such answers" in html(viewer, page())


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"bin": 10}, "bin must be a whole number from 0 to 9"),
        ({"bin": 1, "width": 0.3}, "must divide 1 exactly"),
        ({"below": "x"}, "below must be a number from 0 to 1"),
        ({"least": "nan"}, "least must be a number from 0 to 1"),
        ({"below": 1.01}, "below must be a number from 0 to 1"),
        ({"show": "x"}, "Allowed: labelled, wrong, right, unlabelled"),
        ({"before": "x"}, "before must be the id"),
        ({"before": uuid.UUID(int=1)}, "before must be the id"),
        ({"bucket": "x"}, "bucket must be a whole number"),
    ],
)
def test_a_typo_is_400(viewer: Client, query: dict[str, Any], told: str) -> None:
    assert told in html(viewer, page(**query), status=400)


def test_an_unknown_bucket_is_not_found(viewer: Client) -> None:
    assert viewer.get("/ui/insights/samples?bucket=999999").status_code == 404


def test_the_number_of_queries_does_not_grow(viewer: Client, django_assert_num_queries: Any) -> None:
    answers("ci" * 15, 0.95, by=factories.user())
    address = page()
    # session, user, roles, bucket, samples, how many, steps with runs, marks with people
    with django_assert_num_queries(9):
        viewer.get(address)
