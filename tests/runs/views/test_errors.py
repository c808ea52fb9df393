from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError, connection
from django.test import Client, RequestFactory

from runs.views import errors

pytestmark = pytest.mark.django_db


def test_strangers_get_a_page_without_the_shell() -> None:
    response = Client().get("/ui/nope")
    assert response.status_code == 404
    text = response.content.decode()
    assert "There is nothing here" in text
    assert "Sign in" in text
    assert 'class="nav"' not in text


def test_people_keep_the_shell(viewer: Client) -> None:
    text = viewer.get("/ui/nope").content.decode()
    assert 'class="nav"' in text
    assert "All runs" in text


def test_programs_get_json() -> None:
    response = Client().get("/nope")
    assert response.status_code == 404
    assert response["Content-Type"] == "application/json"


def test_a_browser_that_strayed_gets_a_page() -> None:
    response = Client().get("/nope", headers={"Accept": "text/html,application/xhtml+xml"})
    assert response["Content-Type"].startswith("text/html")


def test_a_broken_page_needs_neither_database_nor_session(rf: RequestFactory) -> None:
    response = errors.server_error(rf.get("/ui/runs"))
    assert response.status_code == 500
    assert "Something broke on our side" in response.content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away_is_told_calmly(viewer: Client) -> None:
    def away(*_: Any) -> None:
        raise OperationalError("the connection is lost")

    viewer.raise_request_exception = False
    for address in ("/ui/runs", "/ui/pipelines"):
        with connection.execute_wrapper(away):
            response = viewer.get(address)
        assert (response.status_code, response["Retry-After"]) == (503, "5")
        assert "The database does not answer" in response.content.decode()
    assert viewer.get("/ui/runs").status_code == 200


def test_a_form_out_of_date_says_that_nothing_changed(viewer: Client) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post("/ui/login", {"username": "a", "password": "b"})
    assert response.status_code == 403
    assert "nothing was changed" in response.content.decode()


def test_refusals_carry_their_reason(rf: RequestFactory) -> None:
    from django.contrib.auth.models import AnonymousUser

    request = rf.get("/ui/runs")
    request.user = AnonymousUser()
    assert "You need more" in errors.forbidden(request, PermissionDenied("You need more")).content.decode()
    assert errors.bad_request(request, SuspiciousOperation("x")).status_code == 400


def test_pages_may_load_nothing_from_elsewhere_and_nothing_inline() -> None:
    policy = Client().get("/ui/login")["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy


def test_a_part_asked_for_after_the_session_ended_reloads_the_page() -> None:
    response = Client().get("/ui/login?next=/ui/runs/rows", headers={"HX-Request": "true"})
    assert response["HX-Refresh"] == "true"


def test_signing_in_leads_where_one_wanted_to_go_and_never_elsewhere() -> None:
    from tests import factories

    factories.user("vera")
    for wanted, landed in (("/ui/pipelines", "/ui/pipelines"), ("https://evil.example/", "/ui/")):
        client = Client()
        response = client.post("/ui/login", {"username": "vera", "password": "secret", "next": wanted})
        assert response.url == landed


def test_a_host_that_is_not_ours_is_refused_with_a_page(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    response = Client().get("/ui/runs", headers={"Host": "evil.example"})
    assert response.status_code == 400
    assert "could not be understood" in response.content.decode()
