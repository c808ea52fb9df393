"""Tokens made and taken back on a page: the secret is in one answer and nowhere else."""

import logging
import re
import uuid
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from runs.access import tokens
from runs.models import Role, Team, Token
from tests import factories
from tests.at_once import at_once

pytestmark = pytest.mark.django_db
PAGE = "/ui/tokens"
HOSTILE = '<script>alert("1")</script>/../שלום\''


@pytest.fixture(autouse=True)
def fresh_memory():
    tokens.forget()
    yield
    tokens.forget()


@pytest.fixture
def admin(db: None) -> Client:
    client = Client()
    client.force_login(factories.user("ada", role="admin"))
    return client


def fields(**given):
    return {"team": "shop", "name": "", "role": "intake", "form": str(uuid.uuid4()), **given}


def secret_in(response):
    return re.search(r'<code id="secret">([^<]+)</code>', response.content.decode())[1]


def made(name="t", **given):
    return tokens.create(team="shop", name=name, role=Role.VIEWER, now=factories.NOW, **given)


@pytest.mark.parametrize("role", ["viewer", "marker", "operator"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_only_an_admin_comes_in(role, method):
    client = Client()
    client.force_login(factories.user(role=role))
    token, _ = made()
    assert getattr(client, method)(PAGE, fields()).status_code == 403
    assert getattr(client, method)(reverse("ui-token-revoke", args=[token.id])).status_code == 403
    assert list(Token.objects.values_list("revoked_at", flat=True)) == [None]


def test_only_an_admin_is_led_here(admin, operator):
    assert PAGE in admin.get("/ui/settings").content.decode()
    assert PAGE not in operator.get("/ui/settings").content.decode()


def test_with_none_it_says_how_to_make_one(admin):
    assert "token create --team" in admin.get(PAGE).content.decode()


def test_the_secret_is_shown_once_and_works(admin, caplog):
    with caplog.at_level(logging.DEBUG):
        response = admin.post(PAGE, fields(name="Alertmanager", role="operator"))
    secret = secret_in(response)

    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    assert tokens.principal_of(secret, now=factories.NOW).role is Role.OPERATOR
    assert secret not in caplog.text
    later = admin.get(PAGE)
    assert "no-store" in later["Cache-Control"]
    assert secret not in later.content.decode()
    assert secret[: tokens.PREFIX_CHARS] in later.content.decode()
    token = Token.objects.get()
    assert (token.team_id, token.name, token.created_by) == ("shop", "Alertmanager", "ada")
    assert secret not in str(list(Token.objects.values_list()))


def test_the_form_sent_twice_makes_one_token_and_says_so(admin):
    form = fields()
    secret = secret_in(admin.post(PAGE, form))
    again = admin.post(PAGE, form)

    assert again.status_code == 409
    assert f"has made the token {secret[: tokens.PREFIX_CHARS]}… already" in unescape(again.content.decode())
    assert secret not in again.content.decode()
    assert Token.objects.count() == 1
    # The page it leads to has a new form.
    fresh = re.search(r'name="form" value="([^"]+)"', again.content.decode())[1]
    assert admin.post(PAGE, fields(form=fresh)).status_code == 200
    assert Token.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_the_form_sent_twice_at_once_makes_one_token():
    form, refused = uuid.uuid4(), []

    def send():
        try:
            made(form=form)
        except tokens.AlreadyMade as error:
            refused.append(error.token.form)

    at_once(*[send] * 4)
    assert refused == [form] * 3
    assert Token.objects.get().form == form


def test_a_hostile_name_stays_text(admin):
    response = admin.post(PAGE, fields(team=HOSTILE, name=HOSTILE))
    page = response.content.decode()
    assert "<script>alert" not in page
    assert HOSTILE in unescape(page)
    assert Token.objects.get().team_id == HOSTILE


@pytest.mark.parametrize(
    "wrong",
    [{"team": ""}, {"team": " "}, {"team": "x" * 101}, {"team": "a\u202eb"}, {"team": "a\x00b"}, {"name": "a\nb"},
     {"name": "x" * 1_000_000}, {"role": "root"}, {"role": ""}, {"role": "4"}],
)  # fmt: skip
def test_what_cannot_be_a_token_is_refused_and_can_be_mended(admin, wrong):
    given = fields(team="keep", **wrong) if "team" not in wrong else fields(name="keep", **wrong)
    response = admin.post(PAGE, given)
    assert response.status_code == 400
    assert 'role="alert"' in response.content.decode()
    assert 'value="keep"' in response.content.decode()
    assert not Token.objects.exists()
    assert not Team.objects.exists()


@pytest.mark.parametrize("form", ["", "x", None])
def test_a_form_without_its_id_makes_nothing(admin, form):
    given = fields(form=form)
    if form is None:
        del given["form"]
    assert admin.post(PAGE, given).status_code == 400
    assert not Token.objects.exists()


def test_revoking_asks_first_and_keeps_who_did_it(admin):
    token, secret = made()
    assert tokens.principal_of(secret, now=factories.NOW)
    address = reverse("ui-token-revoke", args=[token.id])

    assert "Revoke this token?" in admin.get(address).content.decode()
    assert tokens.principal_of(secret, now=factories.NOW)

    assert "is revoked" in admin.post(address, follow=True).content.decode()
    assert tokens.principal_of(secret, now=factories.NOW) is None
    token.refresh_from_db()
    assert (token.revoked_by, token.revoked_at is not None) == ("ada", True)


def test_revoking_again_changes_nothing(admin):
    token, _ = made()
    tokens.take_back(token, now=factories.NOW, by="eve")
    address = reverse("ui-token-revoke", args=[token.id])
    for ask in (admin.get, admin.post):
        assert "revoked before" in ask(address, follow=True).content.decode() or ask is admin.get
    token.refresh_from_db()
    assert (token.revoked_by, token.revoked_at) == ("eve", factories.NOW)


@pytest.mark.parametrize("number", [7, 2**70])
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_token_that_is_not_there(admin, number, method):
    assert getattr(admin, method)(reverse("ui-token-revoke", args=[number])).status_code == 404


def test_those_that_work_come_first_and_the_list_is_bounded(admin, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr("runs.views.token_pages.SHOWN", 3)
    for n, name in enumerate(["old", "gone", "new"]):
        tokens.create(team="shop", name=name, role=Role.VIEWER, now=factories.NOW + timedelta(hours=n))
    tokens.take_back(Token.objects.get(name="gone"), now=factories.NOW, by="eve")
    page = admin.get(PAGE).content.decode()
    assert page.index(">new<") < page.index(">old<") < page.index(">gone<")
    assert "These are the first" not in page

    for n in range(5):
        made(f"more{n}")
    admin.get(PAGE)
    # Session, user, role; how many, the rows, the teams; the badge of the navigation.
    with django_assert_num_queries(7):
        page = admin.get(PAGE).content.decode()
    assert "These are the first 3" in page
    assert page.count("…</code>") == 3
    page = admin.get(PAGE, {"q": "more4"}).content.decode()
    assert page.count("…</code>") == 1
    assert "No token matches" in admin.get(PAGE, {"q": "%"}).content.decode()
