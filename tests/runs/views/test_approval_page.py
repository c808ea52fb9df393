"""The page of one approval: the question, what each answer does, and who comes too late."""

import re
import threading
from html import unescape
from typing import Any

import pytest
from django.test import Client

from runs.models import Approval, Run
from tests import factories
from tests.at_once import at_once
from tests.pipelines import Pipelines, human, human_check, step

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asking(pipelines: Pipelines) -> Approval:
    config = {"message": "Restart {{ summary }}?\nIt takes <b>an hour</b>.", "to": "on-call"}
    pipelines.write("p", human(executor_config=config, timeout_seconds=600), step("after"))
    return Approval.objects.get(run=pipelines.run("p"))


def words(client: Client, url: str) -> str:
    """The text of a page, without its markup."""
    html = client.get(url).content.decode()
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def answer(client: Client, approval: Approval, given: str, reason: str = "looked at it") -> Any:
    return client.post(f"/ui/approvals/{approval.id}/answer", {"answer": given, "reason": reason})


def test_everything_the_decider_needs_is_on_one_page(operator: Client, asking: Approval) -> None:
    html = operator.get(f"/ui/approvals/{asking.id}").content.decode()
    assert "Restart disk full?<br>It takes &lt;b&gt;an hour&lt;/b&gt;." in html
    told = words(operator, f"/ui/approvals/{asking.id}")
    for expected in (
        "the human step ask", "on-call", "Then step after runs.",
        "The run ends as aborted. Nothing after this step is started.",
        "If nobody answers by then, the step fails, and with it the run. Silence is never approval.",
    ):  # fmt: skip
        assert expected in told


def test_of_a_check_the_answer_and_its_signals_are_shown(operator: Client, pipelines: Pipelines) -> None:
    says = {"confidence": 0.9, "summary": "it is the disk", "uncertainties": ["the logs end at noon"]}
    shell = {"type": "shell", "name": "disk", "run": "true"}
    pipelines.write("p", step("look", says=says, deterministic_checks=[human_check(), shell]))
    asked = Approval.objects.get(run=pipelines.run("p"))
    told = words(operator, f"/ui/approvals/{asked.id}")
    for expected in (
        "Is it is the disk right?", "a human check of look", "it is the disk", "1 of 1 passed",
        "The check passes. Whether the run goes on is up to the step's other signals and its threshold.",
        "The check fails, so trust in this step is 0. A person is asked what should happen then.",
    ):  # fmt: skip
        assert expected in told


def test_a_viewer_reads_and_is_told_why_there_are_no_buttons(viewer: Client, asking: Approval) -> None:
    html = viewer.get(f"/ui/approvals/{asking.id}").content.decode()
    assert "This needs the role operator" in html
    assert "Then step after runs" in html
    assert 'name="answer"' not in html
    assert answer(viewer, asking, "approve").status_code == 403
    asking.refresh_from_db()
    assert asking.state == "open"


@pytest.mark.parametrize(
    ("given", "state", "told"),
    [("approve", "approved", "Approved by olga"), ("reject", "rejected", "Rejected by olga")],
)
def test_each_answer_is_recorded_with_who_and_why(
    operator: Client, asking: Approval, given: str, state: str, told: str
) -> None:
    response = answer(operator, asking, given)
    assert (response.status_code, response.url) == (302, f"/ui/approvals/{asking.id}")
    asking.refresh_from_db()
    assert (asking.state, asking.closed_by, asking.reason) == (state, "olga", "looked at it")
    page = words(operator, response.url)
    assert told in page
    assert "looked at it" in page
    assert 'name="answer"' not in operator.get(response.url).content.decode()


def test_a_yes_needs_no_reason(operator: Client, asking: Approval) -> None:
    assert answer(operator, asking, "approve", reason="").status_code == 302
    asking.refresh_from_db()
    assert (asking.state, asking.reason) == ("approved", "")


@pytest.mark.parametrize(
    ("given", "reason", "problem"),
    [
        ("reject", " \n", "A reason is needed to reject"),
        ("approve", "x" * 2001, "A reason has at most 2,000 characters, not 2,001."),
        ("", "r", "An answer is one of: approve, reject."),
        ("abort", "r", "An answer is one of: approve, reject."),
    ],
)
def test_what_is_missing_is_said_beside_it_and_nothing_is_answered(
    operator: Client, asking: Approval, given: str, reason: str, problem: str
) -> None:
    response = answer(operator, asking, given, reason)
    assert response.status_code == 400
    assert problem in response.content.decode()
    asking.refresh_from_db()
    assert asking.state == "open"


def test_of_two_people_at_the_same_instant_one_decides_and_the_other_is_told(asking: Approval) -> None:
    lock, told = threading.Lock(), []
    factories.user("olga", role="operator")
    people = {name: Client() for name in ("ann", "bob")}
    for name, client in people.items():
        client.force_login(factories.user(name, role="operator"))

    def say(name: str, given: str) -> None:
        response = answer(people[name], asking, given)
        page = words(people[name], response.url)
        with lock:
            told.append("Your answer was not recorded." in page)

    at_once(lambda: say("ann", "approve"), lambda: say("bob", "reject"))
    assert sorted(told) == [False, True]
    asking.refresh_from_db()
    assert (asking.state, asking.closed_by) in {("approved", "ann"), ("rejected", "bob")}


def test_who_comes_too_late_is_told_who_answered_what(operator: Client, asking: Approval) -> None:
    other = Client()
    other.force_login(factories.user("ann", role="operator"))
    answer(other, asking, "reject", "not today")
    told = words(operator, answer(operator, asking, "approve").url)
    assert "This was already rejected by ann. Your answer was not recorded." in told
    assert "not today" in told


def test_what_is_not_there_says_so(operator: Client) -> None:
    response = operator.get(f"/ui/approvals/{'0' * 8}-0000-0000-0000-{'0' * 12}")
    assert response.status_code == 404
    assert "There is no such approval" in response.content.decode()


def test_a_withdrawn_one_says_why_nobody_is_asked(operator: Client, asking: Approval) -> None:
    from runs.engine import closing

    closing.cancel(run_id=asking.run_id, by="olga", now=asking.opened_at)
    assert "ended before anybody answered" in words(operator, f"/ui/approvals/{asking.id}")
    assert Run.objects.get(id=asking.run_id).status == "cancelled"
