"""One-use links: opening decides nothing, the button decides once, and everything else says what happened."""

import threading
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from runs.escalations import approving, deciding, links
from runs.escalations.deciding import Said
from runs.models import Approval, Decision, DecisionLink, Escalation, Run
from runs.views import decision_links as view
from tests import factories
from tests.at_once import at_once
from tests.pipelines import Pipelines, human, step

pytestmark = pytest.mark.django_db(transaction=True)

OPEN = {"without_login": True, "expires_seconds": 3600}


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    from django.core.cache import cache

    cache.clear()


@pytest.fixture
def asking(pipelines: Pipelines) -> Approval:
    pipelines.write("p", human(message="Restart <b>it</b>?"), step("after"), links=OPEN)
    return Approval.objects.get(run=pipelines.run("p"))


@pytest.fixture
def paused(pipelines: Pipelines) -> Escalation:
    pipelines.write("q", step("act", says={"confidence": 0.5}), step("after"), links=OPEN)
    return Escalation.objects.get(run=pipelines.run("q"))


def made(sent_to: str = "ann@example.org", **about: Any) -> dict[str, str]:
    found = links.decision_links(**about, sent_to=sent_to, now=timezone.now())
    return {action: urlsplit(url).path for action, url in found.items()}


def text(response: Any) -> str:
    return str(response.content.decode())


def test_the_urls_are_absolute_and_only_their_digests_are_kept(asking: Approval, settings: Any) -> None:
    settings.PUBLIC_URL = "https://vectorstep.example"
    found = links.decision_links(approval=asking, sent_to="ann", now=timezone.now())
    assert list(found) == ["approve", "reject"]
    for url in found.values():
        assert url.startswith("https://vectorstep.example/ui/links/")
    stored = " ".join(map(str, DecisionLink.objects.values_list()))
    assert not any(urlsplit(url).path.split("/")[-1].split(".")[0] in stored for url in found.values())


def test_opening_shows_the_question_and_decides_nothing(asking: Approval) -> None:
    url = made(approval=asking)["approve"]
    for _ in range(3):
        response = Client().get(url)
        assert response.status_code == 200
        assert Client().head(url).status_code == 200
    assert "Restart &lt;b&gt;it&lt;/b&gt;?" in text(response)
    assert "Then step after runs." in text(response)
    assert text(response).count("<button") == 1
    assert "no-store" in response.headers["Cache-Control"]
    asking.refresh_from_db()
    assert asking.state == "open"


@pytest.mark.parametrize(("action", "state"), [("approve", "approved"), ("reject", "rejected")])
def test_the_button_decides_and_says_by_which_link(asking: Approval, action: str, state: str) -> None:
    response = Client().post(made(approval=asking)[action], {"reason": "seen"})
    assert response.status_code == 200
    assert state.capitalize() in text(response)
    asking.refresh_from_db()
    assert (asking.state, asking.closed_by) == (state, "link sent to ann@example.org")
    assert asking.reason == "seen"


@pytest.mark.parametrize(("action", "state"), [("approve", "approved"), ("abort", "aborted")])
def test_an_escalation_is_decided_the_same_way(paused: Escalation, action: str, state: str) -> None:
    assert list(made(escalation=paused)) == ["approve", "abort"]
    assert Client().post(made(escalation=paused)[action]).status_code == 200
    paused.refresh_from_db()
    decision = Decision.objects.get()
    assert (paused.state, decision.kind, decision.by) == (state, action, "link sent to ann@example.org")


def test_who_is_signed_in_is_named_beside_the_link(asking: Approval, django_user_model: Any) -> None:
    client = Client()
    client.force_login(factories.user("olga", role="operator"))
    client.post(made(approval=asking)["approve"])
    asking.refresh_from_db()
    assert asking.closed_by == "olga by link sent to ann@example.org"


def test_a_link_used_twice_says_so(asking: Approval) -> None:
    url = made(approval=asking)["approve"]
    Client().post(url)
    for response in (Client().post(url), Client().get(url)):
        assert response.status_code == 410
        assert "This link has been used" in text(response)
        assert "approved" in text(response)


def test_the_other_link_of_the_message_says_what_was_decided(asking: Approval) -> None:
    both = made(approval=asking)
    Client().post(both["approve"])
    for response in (Client().post(both["reject"]), Client().get(both["reject"])):
        assert response.status_code == 409
        assert "This was already approved by link sent to ann@example.org." in text(response)
    asking.refresh_from_db()
    assert asking.state == "approved"


def test_an_expired_link_decides_nothing(asking: Approval) -> None:
    url = made(approval=asking)["approve"]
    link = DecisionLink.objects.get(action="approve")
    assert link.expires_at - link.created_at == timedelta(seconds=3600)
    DecisionLink.objects.update(expires_at=timezone.now())
    for response in (Client().post(url), Client().get(url)):
        assert response.status_code == 410
        assert "This link has expired" in text(response)
        assert f"/ui/approvals/{asking.id}" in text(response)
    asking.refresh_from_db()
    assert asking.state == "open"


def test_a_link_is_good_no_longer_than_the_question(pipelines: Pipelines) -> None:
    pipelines.write("p", human(timeout_seconds=60), links=OPEN)
    asked = Approval.objects.get(run=pipelines.run("p"))
    made(approval=asked)
    assert set(DecisionLink.objects.values_list("expires_at", flat=True)) == {asked.due_at}


def test_a_decision_made_otherwise_is_told(asking: Approval, paused: Escalation) -> None:
    first, second = made(approval=asking)["approve"], made(escalation=paused)["approve"]
    approving.reject(asking.id, Said("bob", "no", timezone.now()))
    deciding.abort(paused.id, Said("bob", "no", timezone.now()))
    assert "already rejected by bob" in text(Client().post(first))
    assert "already aborted by bob" in text(Client().post(second))
    assert Decision.objects.count() == 1


def test_a_link_of_the_tier_before_decides_nothing(paused: Escalation) -> None:
    url = made(escalation=paused)["approve"]
    deciding.hand_on(paused.id, Said("bob", "not mine", timezone.now()), to="leads")
    for response in (Client().post(url), Client().get(url)):
        assert response.status_code == 409
        assert "handed on to leads" in text(response)
    paused.refresh_from_db()
    assert paused.state == "open"


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: "x" + t, lambda t: "x", lambda t: t.split(".")[0]])
def test_a_forged_link_leads_nowhere(asking: Approval, change: Any) -> None:
    path = made(approval=asking)["approve"]
    forged = "/ui/links/" + change(path.split("/")[-1])
    for response in (Client().get(forged), Client().post(forged)):
        assert response.status_code == 404
        assert "This link leads nowhere" in text(response)


def test_a_signature_alone_is_no_link(asking: Approval) -> None:
    forged = links._address("a" * 43)
    assert Client().get(urlsplit(forged).path).status_code == 404


def test_without_the_token_of_its_form_nothing_is_decided(asking: Approval) -> None:
    client = Client(enforce_csrf_checks=True)
    url = made(approval=asking)["approve"]
    assert client.post(url).status_code == 403
    asking.refresh_from_db()
    assert asking.state == "open"


def test_a_link_of_a_pipeline_that_wants_a_login_leads_to_it_and_then_to_the_page(pipelines: Pipelines) -> None:
    pipelines.write("p", human())
    asked = Approval.objects.get(run=pipelines.run("p"))
    url, client = made(approval=asked)["approve"], Client()
    for response in (client.get(url), client.post(url)):
        assert (response.status_code, response.url) == (302, f"/ui/approvals/{asked.id}")
    assert client.get(response.url).url == f"/ui/login?next=/ui/approvals/{asked.id}"
    asked.refresh_from_db()
    assert asked.state == "open"


def test_of_two_uses_at_the_same_instant_one_decides(asking: Approval) -> None:
    both, lock, codes = made(approval=asking), threading.Lock(), []

    def press(url: str) -> None:
        code = Client().post(url).status_code
        with lock:
            codes.append(code)

    at_once(lambda: press(both["approve"]), lambda: press(both["approve"]), lambda: press(both["reject"]))
    assert sorted(codes)[0] == 200
    assert {*codes[:]} <= {200, 409, 410}
    assert codes.count(200) == 1


def test_whoever_presses_without_end_is_slowed_down(asking: Approval, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "TRIES", 3)
    codes = [Client().get("/ui/links/guess").status_code for _ in range(5)]
    assert codes == [404, 404, 404, 429, 429]
    url = made(approval=asking)["approve"]
    codes = [Client().post(url).status_code for _ in range(4)]
    assert codes == [200, 410, 410, 429]


def test_of_a_closed_question_no_link_is_made(asking: Approval) -> None:
    approving.approve(asking.id, Said("bob", "", timezone.now()))
    asking.refresh_from_db()
    assert made(approval=asking) == {}


def test_links_are_made_by_hand_for_somebody(operator: Client, viewer: Client, asking: Approval) -> None:
    url = f"/ui/approvals/{asking.id}/links"
    assert viewer.post(url, {"sent_to": "ann"}).status_code == 403
    response = operator.post(url, {"sent_to": "ann"})
    assert text(response).count("/ui/links/") == 4  # two links, each to read and to copy
    assert DecisionLink.objects.filter(sent_to="ann (made by olga)").count() == 2
    assert "Whoever has one can decide" in text(response)
    assert operator.post(url, {"sent_to": " "}).status_code == 302
    assert DecisionLink.objects.count() == 2


def test_they_are_made_for_an_escalation_too(operator: Client, paused: Escalation) -> None:
    response = operator.post(f"/ui/escalations/{paused.id}/links", {"sent_to": "<ann>"})
    assert response.status_code == 200
    assert "&lt;ann&gt;" in text(response)
    assert Run.objects.get(id=paused.run_id).status == "escalated"


@pytest.mark.parametrize("wrong", [{"without_login": "yes"}, {"expires_seconds": 0}, {"nonsense": 1}])
def test_what_a_pipeline_says_of_links_is_checked(pipelines: Pipelines, wrong: dict[str, Any]) -> None:
    from pydantic import ValidationError

    from runs.pipelines.schema import Links

    with pytest.raises(ValidationError):
        Links.model_validate(wrong)
