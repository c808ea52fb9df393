"""The list of escalations: what waits, longest first, what was decided, and the number in the navigation."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from runs.escalations import listing
from runs.models import Escalation
from tests import factories
from tests.factories import NOW

HOUR = dt.timedelta(hours=1)


def waiting(hours: int = 0, *, name: str = "act", decided: str = "", run: Any = None, **fields: Any) -> Any:
    """Opened ``hours`` before now."""
    run_row = factories.run(status="escalated", now=NOW - hours * HOUR, **(run or {}))
    step = factories.step(run_row, name, status="escalated", combined_trust=0.5, confidence_threshold=0.75)
    return factories.escalation(step, decided=decided, **fields)


def listed(client: Client, query: str = "") -> list[str]:
    """The ids in the order of the page."""
    html = client.get(f"/ui/escalations{query}").content.decode()
    return [part.split('"')[0] for part in html.split('class="row-link" href="/ui/escalations/')[1:]]


def test_the_longest_wait_comes_first_and_what_is_decided_has_left(viewer: Client) -> None:
    young, old, done = waiting(1), waiting(5), waiting(9, decided="approve")
    assert listed(viewer) == [str(old.id), str(young.id)]
    assert listed(viewer, "?show=closed") == [str(done.id)]


def test_what_was_decided_says_who_and_why_newest_first(viewer: Client) -> None:
    first, second = waiting(9, decided="abort", by="bob"), waiting(2, decided="approve")
    withdrawn = waiting(1)
    Escalation.objects.filter(id=withdrawn.id).update(state="withdrawn", closed_at=NOW)
    assert listed(viewer, "?show=closed") == [str(one.id) for one in (withdrawn, second, first)]
    html = viewer.get("/ui/escalations?show=closed").content.decode()
    for told in ("Aborted", "bob", "looked at it", "Approved", "ann", "No longer needed"):
        assert told in html


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("pipeline=refunds", "other run"), ("step=fan", "branch"), ("step=fan/0", "branch"),
        ("agent=command:x", "agent"),
        ("team=ops", "other run"), ("stage=testing", "other run"), ("to=leads", "asked"), ("overdue=yes", "late"),
        ("step=fa", None),
    ],
)  # fmt: skip
def test_each_filter_narrows(viewer: Client, query: str, expected: str | None) -> None:
    other = {"version": factories.version("refunds"), "team": "ops", "stage": "testing"}
    made = {
        "plain": waiting(), "branch": waiting(name="fan/0"), "other run": waiting(run=other),
        "asked": waiting(to="leads"), "late": waiting(overdue_since=NOW), "agent": waiting(),
    }  # fmt: skip
    made["agent"].step.agent = "command:x"
    made["agent"].step.save()
    assert listed(viewer, f"?{query}") == ([str(made[expected].id)] if expected else [])
    assert len(listed(viewer, f"?run={made['plain'].run_id}")) == 1


def test_a_deadline_is_overdue_from_its_second_on(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    at = waiting(due_at=NOW)
    waiting(due_at=NOW + dt.timedelta(microseconds=1))
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    assert listed(viewer, "?overdue=yes") == [str(at.id)]


@pytest.mark.parametrize("tab", ["", "show=closed&"])
def test_pages_follow_each_other_without_gaps(viewer: Client, tab: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.views.question_lists.PAGE", 2)
    # Two of them at the same instant: their ids decide.
    made = [waiting(hours, decided="approve" if tab else "") for hours in (4, 3, 3, 2, 1)]
    ids = [str(one.id) for one in made]
    expected = ids[::-1] if tab else ids
    pages, after = [], ""
    for _ in range(3):
        page = listed(viewer, f"?{tab}{after}")
        pages.append(page)
        after = f"after={page[-1]}"
    assert pages == [expected[:2], expected[2:4], expected[4:]]


def test_a_rare_match_is_looked_for_a_window_at_a_time(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "WINDOW", 3)
    made = [waiting(hours) for hours in (7, 6, 5, 4)] + [waiting(3, to="leads")]
    filters = listing.Filters(to="leads")
    first = listing.ESCALATIONS.page("open", filters, now=NOW, size=2)
    assert (list(first.rows), first.after) == ([], made[2].id)
    html = viewer.get("/ui/escalations?to=leads").content.decode()
    assert "the next part may have some" in html
    second = listing.ESCALATIONS.page("open", filters, now=NOW, size=2, after=first.after)
    assert (list(second.rows), second.after) == ([made[4]], None)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("show=all", "Allowed: open, closed"), ("stage=prod", "Allowed: testing, production"),
        ("overdue=1", "Allowed: yes"), ("run=x", "run must be the id of a run"),
        ("after=x", "after must be the id of an escalation"),
        (f"after={'0' * 32}", "after is no escalation of this list"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_used_is_refused(viewer: Client, query: str, problem: str) -> None:
    response = viewer.get(f"/ui/escalations?{query}")
    assert response.status_code == 400
    assert problem in response.content.decode()


def test_a_cursor_of_the_other_tab_is_refused(viewer: Client) -> None:
    one = waiting()
    assert viewer.get(f"/ui/escalations?show=closed&after={one.id}").status_code == 400


def test_empty_lists_say_what_they_are_for(viewer: Client) -> None:
    assert "Nothing waits for a decision" in viewer.get("/ui/escalations").content.decode()
    assert "Nothing was decided yet" in viewer.get("/ui/escalations?show=closed").content.decode()
    assert "Nothing here matches" in viewer.get("/ui/escalations?to=nobody").content.decode()


@pytest.mark.parametrize(("count", "badge"), [(0, None), (1, "1"), (99, "99"), (101, "99+")])
def test_the_navigation_tells_how_many_wait(viewer: Client, count: int, badge: str | None) -> None:
    run = factories.run(status="escalated")
    for number in range(count):
        factories.escalation(factories.step(run, f"step {number}", status="escalated"))
    html = viewer.get("/ui/runs").content.decode()
    assert (f'<span class="badge">{badge}<' in html) if badge else ('class="badge"' not in html)


def test_the_number_of_queries_does_not_grow(viewer: Client, django_assert_num_queries: Any) -> None:
    for hours in range(3):
        waiting(hours)
        waiting(hours, decided="approve")
    # session, user, roles, the page, the names to choose from, the badge; and the decisions of the closed
    for query, expected in (("", 6), ("?show=closed", 7), ("?to=leads", 7)):
        with django_assert_num_queries(expected):
            viewer.get(f"/ui/escalations{query}")
