from html import unescape
from typing import Any

import pytest
from django.test import Client

from tests import factories
from tests.insights.history import answer, answers, key
from tests.insights.views.reading import html

pytestmark = pytest.mark.django_db

PAGE = "/ui/insights/steps"


@pytest.fixture(autouse=True)
def four_are_enough(service: Any) -> None:
    service(calibration={"n_min": 4})


def test_before_anything_ran_it_says_what_to_do(viewer: Client) -> None:
    text = html(viewer, PAGE)
    assert "Nothing has been measured yet" in text
    assert "Choose a pipeline to run" in text


def test_the_flag_stands_with_its_step_and_how_sure_it_is(viewer: Client) -> None:
    answers("ciii", 0.95, by=factories.user())
    text = html(viewer, PAGE)
    assert '>1</a> of <data class="found" value="1">1 step</data> is right far more or less often than it says' in text
    assert "Runs scoring ~95% here are only 25% correct." in text
    assert "4 labels: the 95% interval bears this out" in text
    assert 'aria-label="says 95%, is right 25% of 4 (less often right than it says)"' in text


def test_a_step_without_labels_shows_no_zero(viewer: Client) -> None:
    answer()
    text = html(viewer, PAGE)
    assert text.count("not known") == 1
    assert ">0%<" not in text


def test_names_are_data(viewer: Client) -> None:
    answer(key(step="<b>x</b>/שלום?&#", agent="command:<i>", model='"><script>', prompt_hash="<&", agent_version="%"))
    raw = viewer.get(PAGE).content.decode()
    for tag in ("<b>x", "<i>", '"><script>'):
        assert tag not in raw
    address = unescape(raw.split('class="row-link" href="')[1].split('"')[0])
    assert "&lt;b&gt;x&lt;/b&gt;/שלום?&amp;#" in viewer.get(address).content.decode()


def test_only_some_records_stand_under_each_step(viewer: Client) -> None:
    for n in range(5):
        answer(key(prompt_hash=f"hash{n}"))
    text = html(viewer, PAGE)
    assert text.count("<tr>") == 1 + 2
    assert "3 more" in text


def test_pages(viewer: Client) -> None:
    for n in range(22):
        answer(key(step=f"step-{n:02}"))
    first, second = html(viewer, PAGE), html(viewer, f"{PAGE}?page=2")
    assert (">step-19<" in first, ">step-20<" in first, 'rel="next"' in first) == (True, False, True)
    assert (">step-19<" in second, ">step-21<" in second, 'rel="next"' in second) == (False, True, False)


def test_filters_are_kept_and_can_find_nothing(viewer: Client) -> None:
    answer()
    text = html(viewer, f"{PAGE}?q=nowhere&stage=testing")
    assert "No step matches" in text
    assert 'value="nowhere"' in text


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("stage=prod", "Allowed: all, testing, production"),
        ("agent=nobody", "agent “nobody” is not known"),
        ("show=bad", "Allowed: flagged, validated, unmarked"),
        ("page=0", "page must be a whole number"),
        ("sort=x", "There is no parameter “sort”"),
        ("q=a&q=b", "q is given more than once"),
    ],
)
def test_a_typo_is_400_and_names_what_is_allowed(viewer: Client, query: str, told: str) -> None:
    answer()
    assert told in html(viewer, f"{PAGE}?{query}", status=400)


def test_the_number_of_queries_does_not_grow(viewer: Client, django_assert_num_queries: Any) -> None:
    olga = factories.user()
    for n in range(30):
        answers("ci", 0.95, by=olga, bucket=key(step=f"s{n}", prompt_hash=str(n)))
    # session, user, roles; of all buckets how they stand, when each answered last, their keys; of those shown the
    # keys, sums, when each answered last
    with django_assert_num_queries(9):
        viewer.get(PAGE)
