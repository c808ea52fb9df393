import dataclasses
from typing import Any

import pytest
from django.test import Client

from insights import agreement
from tests import factories
from tests.insights.history import answer, answers, key
from tests.insights.views.reading import html

pytestmark = pytest.mark.django_db

PAGE = "/ui/insights/agreement"


def twice(said: str, step: str = "assess") -> list[Any]:
    """Answers marked by olga and pete: "cc" agree, "ci" differ."""
    words = {"c": "correct", "p": "partial", "i": "incorrect"}
    people = [factories.User.objects.get_or_create(username=name)[0] for name in ("olga", "pete")]
    return [
        answer(key(step=step), marks={by: words[letter] for by, letter in zip(people, pair, strict=True)})
        for pair in said.split()
    ]


def test_before_two_people_marked_one_answer_it_says_how_to_get_there(viewer: Client) -> None:
    answers("cc", 0.9, by=factories.user())
    text = html(viewer, PAGE)
    assert "No answer has been marked by several people" in text
    assert "marking.second_opinion_share" in text


def test_agreement_beyond_chance() -> None:
    twice("cc cc ii ci")
    found = agreement.agreement()
    # The same 3 times of 4. By chance: olga correct 3/4, pete 2/4, so 3/4 x 2/4 + 1/4 x 2/4 = 1/2; (3/4 - 1/2) / (1/2).
    [pair] = found.pairs
    assert (pair.first, pair.second, pair.same.value, pair.kappa) == ("olga", "pete", 0.75, 0.5)
    # Alpha: 8 values, 5 correct and 3 incorrect; 2 of 8 ordered pairs differ; 1 - (8 - 1) x 2 / (2 x 5 x 3).
    assert found.nominal == pytest.approx(1 - 14 / 30)
    assert len(found.disagreements) == 1


@pytest.mark.parametrize(
    ("alpha", "told"),
    [(0.8, "commonly taken as reliable"), (0.79, "tentative"), (0.667, "tentative"), (0.66, "Too little")],
)
def test_what_an_alpha_is_taken_to_mean(alpha: float, told: str) -> None:
    nothing = agreement.agreement()
    assert told in dataclasses.replace(nothing, ordinal=alpha).verdict


def test_undone_and_replaced_marks_do_not_count() -> None:
    from calibration import labels

    [step] = twice("ci")
    pete = factories.User.objects.get(username="pete")
    labels.mark_sample(sample_id=step.id, by=pete, outcome="correct", via="queue", now=factories.NOW)
    assert agreement.agreement().same.value == 1
    # Undoing brings back what pete said first.
    newest = labels.Mark.objects.filter(by=pete).latest("id")
    labels.undo_mark(mark_id=newest.pk, by=pete, now=factories.NOW)
    assert agreement.agreement().same.value == 0


def test_everybody_always_saying_the_same_says_nothing_about_chance(viewer: Client) -> None:
    twice("cc cc")
    text = html(viewer, PAGE)
    assert "100%" in text
    assert "not known: every mark is the same" in text


def test_disagreements_are_a_filter(viewer: Client) -> None:
    same, differ = twice("cc ci")
    text, every = html(viewer, PAGE), html(viewer, f"{PAGE}?show=all")
    assert (str(same.run_id) in text, str(differ.run_id) in text) == (False, True)
    assert (str(same.run_id) in every, str(differ.run_id) in every) == (True, True)


def test_one_step_alone(viewer: Client) -> None:
    twice("cc cc", step="a")
    twice("ci", step="b")
    assert "<b>100%</b> of the 2 answers" in html(viewer, f"{PAGE}?step=a")
    assert "<b>0%</b> of the 1 answer" in html(viewer, f"{PAGE}?step=b")


def test_only_the_newest_marks_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    twice("cc")
    twice("ci", step="b")
    monkeypatch.setattr(agreement, "WINDOW", 1)
    assert [one.step for one in agreement.agreement().answers] == ["b"]


@pytest.mark.parametrize(("query", "told"), [("show=x", "Allowed: disagreements, all"), ("step=x", "step “x”")])
def test_a_typo_is_400(viewer: Client, query: str, told: str) -> None:
    assert told in html(viewer, f"{PAGE}?{query}", status=400)


def test_the_number_of_queries_does_not_grow(viewer: Client, django_assert_num_queries: Any) -> None:
    twice("ci cc ic " * 5)
    # session, user, roles, steps to choose from, newest mark, marked by several, their marks, their runs
    with django_assert_num_queries(9):
        viewer.get(PAGE)


def test_what_two_markers_both_marked_leads_to_those_answers_alone(viewer: Client) -> None:
    [both] = twice("ci")
    olga, zoe = factories.User.objects.get(username="olga"), factories.user("zoe")
    other = answer(marks={olga: "correct", zoe: "partial"})
    text = html(viewer, f"{PAGE}?first=olga&second=pete")
    assert (str(both.run_id) in text, str(other.run_id) in text) == (True, False)
    assert '<data class="found" value="1">' in text
    assert "first “nobody”" in html(viewer, f"{PAGE}?first=nobody", status=400)
