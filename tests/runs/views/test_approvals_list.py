"""The list of approvals: what is asked, longest first, what was answered, and the number in the navigation."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from runs.escalations import listing
from runs.models import Approval
from tests import factories
from tests.factories import NOW

HOUR = dt.timedelta(hours=1)


def waiting(hours: int = 0, *, name: str = "ask", run: Any = None, **fields: Any) -> Approval:
    """Asked ``hours`` before now."""
    run_row = factories.run(status="running", now=NOW - hours * HOUR, **(run or {}))
    return factories.approval(factories.step(run_row, name, status="pending"), **fields)


def listed(client: Client, query: str = "") -> list[str]:
    """The ids in the order of the page."""
    html = client.get(f"/ui/approvals{query}").content.decode()
    return [part.split('"')[0] for part in html.split('class="row-link" href="/ui/approvals/')[1:]]


def test_the_longest_wait_comes_first_and_what_is_answered_has_left(viewer: Client) -> None:
    young, old, done = waiting(1), waiting(5), waiting(9, answered="approved")
    assert listed(viewer) == [str(old.id), str(young.id)]
    assert listed(viewer, "?show=closed") == [str(done.id)]


def test_a_row_says_what_is_asked_where_from_and_until_when(viewer: Client) -> None:
    waiting(message="Restart <b>now</b>?", to="on-call", due_at=NOW + 90_000 * HOUR, kind="check", name="sign-off")
    html = viewer.get("/ui/approvals").content.decode()
    for told in ("Restart &lt;b&gt;now&lt;/b&gt;?", "on-call", "sign-off", "a check of", "then a no"):
        assert told in html


def test_what_was_answered_says_who_and_why_newest_first(viewer: Client) -> None:
    first, second = waiting(9, answered="rejected", by="bob"), waiting(2, answered="approved")
    late = waiting(1, answered="timed_out", by="")
    assert listed(viewer, "?show=closed") == [str(one.id) for one in (late, second, first)]
    html = viewer.get("/ui/approvals?show=closed").content.decode()
    for told in ("Rejected", "bob", "looked at it", "Approved", "ann", "Timed out"):
        assert told in html


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("pipeline=refunds", "other run"), ("step=fan", "branch"), ("agent=command:x", "agent"),
        ("team=ops", "other run"), ("stage=testing", "other run"), ("to=leads", "asked"), ("step=fa", None),
    ],
)  # fmt: skip
def test_each_filter_narrows(viewer: Client, query: str, expected: str | None) -> None:
    other = {"version": factories.version("refunds"), "team": "ops", "stage": "testing"}
    made = {
        "plain": waiting(), "branch": waiting(name="fan/0"), "other run": waiting(run=other),
        "asked": waiting(to="leads"), "agent": waiting(),
    }  # fmt: skip
    made["agent"].step.agent = "command:x"
    made["agent"].step.save()
    assert listed(viewer, f"?{query}") == ([str(made[expected].id)] if expected else [])
    assert len(listed(viewer, f"?run={made['plain'].run_id}")) == 1


@pytest.mark.parametrize("tab", ["", "show=closed&"])
def test_pages_follow_each_other_without_gaps(viewer: Client, tab: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.views.question_lists.PAGE", 2)
    ids = [str(waiting(hours, answered="approved" if tab else "").id) for hours in (4, 3, 3, 2, 1)]
    expected = ids[::-1] if tab else ids
    pages, after = [], ""
    for _ in range(3):
        page = listed(viewer, f"?{tab}{after}")
        pages.append(page)
        after = f"after={page[-1]}"
    assert pages == [expected[:2], expected[2:4], expected[4:]]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("show=all", "Allowed: open, closed"), ("stage=prod", "Allowed: testing, production"),
        ("run=x", "run must be the id of a run"), ("after=x", "after must be the id of an approval"),
        (f"after={'0' * 32}", "after is no approval of this list"), ("overdue=yes", "There is no parameter"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_used_is_refused(viewer: Client, query: str, problem: str) -> None:
    response = viewer.get(f"/ui/approvals?{query}")
    assert response.status_code == 400
    assert problem in response.content.decode()


def test_empty_lists_say_what_they_are_for(viewer: Client) -> None:
    assert "Nobody is asked anything" in viewer.get("/ui/approvals").content.decode()
    assert "Nothing was answered yet" in viewer.get("/ui/approvals?show=closed").content.decode()
    assert "Nothing here matches" in viewer.get("/ui/approvals?to=nobody").content.decode()


@pytest.mark.parametrize(("count", "badge"), [(0, None), (1, "1"), (99, "99"), (101, "99+")])
def test_the_navigation_tells_how_many_wait(viewer: Client, count: int, badge: str | None) -> None:
    step = factories.step(factories.run(status="running"), status="judging")
    for number in range(count):
        factories.approval(step, kind="check", position=number)
    html = viewer.get("/ui/runs").content.decode()
    assert (f'<span class="badge">{badge}<' in html) if badge else ('class="badge"' not in html)


def test_both_badges_cost_one_query(viewer: Client, django_assert_num_queries: Any) -> None:
    waiting()
    factories.escalation(factories.step(factories.run(status="escalated"), status="escalated"))
    with django_assert_num_queries(1):
        assert listing.counts_waiting() == (1, 1)


def test_the_number_of_queries_does_not_grow(viewer: Client, django_assert_num_queries: Any) -> None:
    for hours in range(3):
        waiting(hours)
        waiting(hours, answered="approved")
    # session, user, roles, the page, the names to choose from, the badges; and where a filter's window ends
    viewer.get("/ui/approvals")
    for query, expected in (("", 6), ("?show=closed", 6), ("?to=leads", 7)):
        with django_assert_num_queries(expected):
            viewer.get(f"/ui/approvals{query}")
