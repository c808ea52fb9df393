"""One time zone per reader, in tables and charts alike."""

import datetime as dt
import zoneinfo
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.utils import timezone

from runs.access.preferences import prefer, preference_of
from runs.models import Preference
from runs.views.zone import COOKIE, ReaderZone, wall
from tests import factories

pytestmark = pytest.mark.django_db

BERLIN = "Europe/Berlin"


@pytest.fixture
def person() -> User:
    return factories.user("vera", role="marker")


@pytest.fixture
def client(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def shown(client: Client) -> str:
    """The exact time that the runs list gives for a run of 14:32 UTC."""
    factories.run(now=datetime(2026, 11, 30, 14, 32, tzinfo=UTC))
    return client.get("/ui/runs").content.decode()


def test_a_chosen_zone_is_used(client: Client, person: User) -> None:
    prefer(user=person, time_zone=BERLIN)
    html = shown(client)
    assert "30 Nov 2026, 15:32:00 CET" in html
    assert 'data-zone="Europe/Berlin"' in html


def test_until_then_the_browsers_zone_and_without_one_utc(client: Client) -> None:
    assert "14:32:00 UTC" in shown(client)
    client.cookies[COOKIE] = "Asia/Kolkata"
    assert "20:02:00 IST" in shown(client)


def test_a_choice_wins_over_the_browser(client: Client, person: User) -> None:
    client.cookies[COOKIE] = "Asia/Kolkata"
    prefer(user=person, time_zone="UTC")
    assert "14:32:00 UTC" in shown(client)


@pytest.mark.parametrize("nonsense", ["Mars/Base", "../../etc/passwd", "x" * 4000, "localtime"])
def test_a_cookie_that_names_no_zone_is_utc(client: Client, nonsense: str) -> None:
    client.cookies[COOKIE] = nonsense
    assert "14:32:00 UTC" in shown(client)


def test_one_readers_zone_never_reaches_the_next_request_of_the_thread(client: Client, person: User) -> None:
    prefer(user=person, time_zone=BERLIN)
    client.get("/ui/runs")
    other = Client()
    other.force_login(factories.user())
    assert "14:32:00 UTC" in shown(other)


def test_the_api_stays_with_utc() -> None:
    timezone.activate(zoneinfo.ZoneInfo(BERLIN))
    request = RequestFactory().get("/runs")
    ReaderZone(lambda _request: None).process_request(request)  # type: ignore[arg-type,return-value]
    assert timezone.get_current_timezone() is dt.UTC


def test_charts_are_given_the_readers_clock() -> None:
    with timezone.override(zoneinfo.ZoneInfo(BERLIN)):
        # Either side of the end of summer time, 25 October 2026 at 01:00 UTC
        assert wall(dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)) == "2026-10-25T02:30:00.000"
        assert wall(dt.datetime(2026, 10, 25, 1, 30, tzinfo=dt.UTC)) == "2026-10-25T02:30:00.000"


def test_the_settings_page_stores_both(client: Client, person: User) -> None:
    assert preference_of(person).is_blind
    response = client.post("/ui/settings", {"time_zone": BERLIN}, follow=True)
    stored = Preference.objects.get(user=person)
    assert (stored.time_zone, stored.is_blind) == (BERLIN, False)
    assert f"there ({BERLIN})" in response.content.decode()
    client.post("/ui/settings", {"time_zone": "", "is_blind": "on"})
    stored.refresh_from_db()
    assert (stored.time_zone, stored.is_blind) == ("", True)


def test_an_unknown_zone_is_refused_and_nothing_stored(client: Client, person: User) -> None:
    response = client.post("/ui/settings", {"time_zone": "Mars/Base", "is_blind": "on"})
    assert response.status_code == 400
    assert "There is no time zone" in response.content.decode()
    assert not Preference.objects.filter(user=person).exists()


def test_who_may_not_mark_is_not_asked_about_marking() -> None:
    client = Client()
    viewer = factories.user("walt")
    client.force_login(viewer)
    assert "Mark blind" not in client.get("/ui/settings").content.decode()
    client.post("/ui/settings", {"time_zone": "UTC"})
    assert Preference.objects.get(user=viewer).is_blind
