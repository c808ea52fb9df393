"""The page of one escalation: what the decider sees, what each decision does, and who comes too late."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from runs.models import Decision, Escalation, Run
from tests import factories
from tests.pipelines import Pipelines, step

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def paused(pipelines: Pipelines) -> Run:
    doubts = {"confidence": 0.5, "uncertainties": ["the logs end at noon"], "amount": 40}
    pipelines.write(
        "p",
        step("act", says=doubts, escalation={"to": "first line", "after_seconds": 600}),
        step("refund", when="true"),
    )
    return pipelines.run("p")


def asked(run: Run) -> Escalation:
    return Escalation.objects.get(run=run)


def words(client: Client, url: str) -> str:
    """The text of a page, without its markup."""
    html = client.get(url).content.decode()
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def decide(client: Client, escalation: Escalation, decision: str, **form: Any) -> Any:
    form = {"reason": "looked at it", "tier": 0, **form}
    return client.post(f"/ui/escalations/{escalation.id}/decide", {"decision": decision, **form})


def test_everything_the_decider_needs_is_on_one_page(operator: Client, paused: Run) -> None:
    told = words(operator, f"/ui/escalations/{asked(paused).id}")
    for expected in (
        "50% falls short of this step's 75%", "How was this calculated?", "the logs end at noon", "looked",
        "first line", "If nobody decides by then, that is noted and it keeps waiting.",
        "Then step refund runs, if its condition holds.", "The run ends as aborted.",
        "Your version stands in the place of the answer.",
    ):  # fmt: skip
        assert expected in told


def test_a_viewer_reads_and_is_told_why_there_are_no_buttons(viewer: Client, paused: Run) -> None:
    escalation = asked(paused)
    html = viewer.get(f"/ui/escalations/{escalation.id}").content.decode()
    assert "This needs the role operator" in html
    assert "Then step refund runs" in html
    assert 'name="decision"' not in html
    assert decide(viewer, escalation, "approve").status_code == 403
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    ("form", "became", "told"),
    [
        ({"decision": "approve"}, ("approved", "running"), "Approved by olga"),
        ({"decision": "abort"}, ("aborted", "aborted"), "Aborted by olga"),
        ({"decision": "escalate", "to": "leads"}, ("open", "escalated"), "Handed on to leads by olga"),
    ],
)
def test_each_decision_is_recorded_with_who_and_why(
    operator: Client, paused: Run, form: dict[str, str], became: tuple[str, str], told: str
) -> None:
    escalation = asked(paused)
    response = decide(operator, escalation, **form)
    assert response.status_code == 302
    assert response.url == f"/ui/escalations/{escalation.id}"
    paused.refresh_from_db()
    escalation.refresh_from_db()
    assert (escalation.state, paused.status) == became
    page = words(operator, response.url)
    assert told in page
    assert "looked at it" in page


@pytest.mark.parametrize(
    ("decision", "form", "problem"),
    [
        ("approve", {"reason": " \n"}, "A reason is needed."),
        ("abort", {"reason": "x" * 2001}, "A reason has at most 2,000 characters, not 2,001."),
        ("escalate", {}, "A group that is asked next is needed to escalate."),
        ("escalate", {"to": "first line"}, "first line is asked already."),
        ("escalate", {"to": "x" * 201}, "A group has at most 200 characters"),
        ("", {}, "A decision is one of: approve, revise, escalate, abort."),
        ("maybe", {}, "A decision is one of"),
    ],
)
def test_what_is_missing_is_said_beside_it_and_nothing_is_decided(
    operator: Client, paused: Run, decision: str, form: dict[str, str], problem: str
) -> None:
    response = decide(operator, asked(paused), decision, **form)
    assert response.status_code == 400
    html = response.content.decode()
    assert problem in html
    assert form.get("reason", "looked at it")[:50] in html
    assert not Decision.objects.exists()


def test_who_comes_too_late_is_told_who_decided_what(operator: Client, paused: Run) -> None:
    escalation = asked(paused)
    other = Client()
    other.force_login(factories.user("ann", role="operator"))
    decide(other, escalation, "abort", reason="not now")
    told = words(operator, decide(operator, escalation, "approve").url)
    assert "This was already aborted by ann. Your decision was not recorded." in told
    assert "not now" in told
    assert Decision.objects.count() == 1


def test_a_form_sent_twice_decides_once(operator: Client, paused: Run) -> None:
    escalation = asked(paused)
    decide(operator, escalation, "escalate", to="leads")
    told = words(operator, decide(operator, escalation, "escalate", to="leads").url)
    assert "This was handed on to leads by olga meanwhile." in told
    escalation.refresh_from_db()
    assert (escalation.tier, Decision.objects.count()) == (1, 1)


def test_who_has_not_seen_that_it_was_handed_on_does_not_decide(operator: Client, paused: Run) -> None:
    escalation = asked(paused)
    decide(operator, escalation, "escalate", to="leads")
    decide(operator, escalation, "approve", tier=0)
    escalation.refresh_from_db()
    assert escalation.state == "open"
    decide(operator, escalation, "approve", tier=1)
    escalation.refresh_from_db()
    assert escalation.state == "approved"


def test_a_tier_that_is_no_number_is_refused(operator: Client, paused: Run) -> None:
    assert decide(operator, asked(paused), "approve", tier="x").status_code == 400


def test_the_form_is_protected(paused: Run) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(factories.user(role="operator"))
    assert decide(client, asked(paused), "approve").status_code == 403


def test_an_escalation_that_is_not_there_leads_back(viewer: Client) -> None:
    response = viewer.get(f"/ui/escalations/{'0' * 8}-0000-0000-0000-{'0' * 12}")
    assert response.status_code == 404
    assert 'href="/ui/escalations"' in response.content.decode()


def test_the_run_page_shows_what_is_asked_and_then_what_was_decided(operator: Client, paused: Run) -> None:
    escalation = asked(paused)
    html = operator.get(f"/ui/runs/{paused.id}").content.decode()
    assert html.count(f'href="/ui/escalations/{escalation.id}"') == 2
    decide(operator, escalation, "approve")
    told = words(operator, f"/ui/runs/{paused.id}")
    assert re.search(r"Approved by olga , .* The escalation looked at it", told)


def test_several_questions_of_one_run_are_listed(operator: Client) -> None:
    run = factories.run(status="escalated")
    for name in ("fan/0", "fan/1"):
        factories.escalation(factories.step(run, name, status="escalated"))
    assert f'href="/ui/escalations?run={run.id}"' in operator.get(f"/ui/runs/{run.id}").content.decode()


def test_hostile_text_is_only_text(operator: Client) -> None:
    run = factories.run(status="escalated", summary="<img src=x onerror=alert(1)>")
    row = factories.step(run, "<b>act</b>", status="escalated", parsed_output={"summary": "<script>1</script>"})
    one = factories.escalation(row, reason="<script>2</script>", to="<i>us</i>")
    one.decisions.create(
        kind="escalate", by="<u>x</u>", reason="</textarea><script>3", to="<i>us</i>", at=factories.NOW
    )
    for url in (
        f"/ui/escalations/{one.id}",
        "/ui/escalations",
        f"/ui/escalations/{one.id}/revise",
        f"/ui/runs/{run.id}",
    ):
        html = operator.get(url).content.decode()
        for bad in ("<img src=x", "<b>act", "<script>1", "<script>2", "<script>3", "<i>us", "<u>x"):
            assert bad not in html, (url, bad)


def test_a_long_history_is_cut(viewer: Client) -> None:
    one = factories.escalation(factories.step(factories.run(status="escalated"), status="escalated"))
    for number in range(60):
        one.decisions.create(kind="escalate", by="ann", to=f"tier {number}", reason="r", at=factories.NOW)
    told = words(viewer, f"/ui/escalations/{one.id}")
    assert "10 earlier decisions" in told
    assert "tier 9 " not in told
    assert "tier 10 " in told


def test_the_number_of_queries_does_not_grow(operator: Client, paused: Run, django_assert_num_queries: Any) -> None:
    one = asked(paused)
    for number in range(40):
        one.decisions.create(kind="escalate", by="ann", to=f"tier {number}", reason="r", at=factories.NOW)
        factories.escalation(factories.step(factories.run(status="escalated"), status="escalated"))
    # session, user, roles, the escalation, the panel's step, signals, retries, marks (3), question, its decision, the
    # history, what the answer says of going on, the groups known, the badge
    with django_assert_num_queries(17):
        operator.get(f"/ui/escalations/{one.id}")
