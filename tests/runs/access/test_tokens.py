from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from runs.access import tokens
from runs.access.tokens import TokenError
from runs.models import Role, Team, Token

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh_memory():
    tokens.forget()
    yield
    tokens.forget()


def test_secret_is_not_kept():
    token, secret = tokens.create(team="payments", role=Role.VIEWER, now=NOW)
    kept = " ".join(str(value) for value in Token.objects.values_list().get(pk=token.pk))
    assert secret not in kept
    assert secret.startswith(token.prefix)


def test_principal_of_a_token():
    token, secret = tokens.create(team="payments", role=Role.OPERATOR, now=NOW)
    principal = tokens.principal_of(secret, now=NOW)
    assert (principal.team, principal.role, principal.prefix) == ("payments", Role.OPERATOR, token.prefix)


@pytest.mark.parametrize("secret", ["", "vst_", "vst_" + "x" * 43, "é", "\udc80"])
def test_unknown_secret_is_nobody(secret):
    tokens.create(team="payments", role=Role.ADMIN, now=NOW)
    assert tokens.principal_of(secret, now=NOW) is None


def test_two_tokens_of_a_team_share_it():
    tokens.create(team="payments", role=Role.INTAKE, now=NOW)
    tokens.create(team=" payments ", role=Role.INTAKE, now=NOW)
    assert list(Team.objects.values_list("name", flat=True)) == ["payments"]


@pytest.mark.parametrize("team", ["", "   ", "a\nb", "a\x00b", "x" * 101])
def test_team_name_is_checked(team):
    with pytest.raises(TokenError):
        tokens.create(team=team, role=Role.INTAKE, now=NOW)
    assert not Token.objects.exists()


def test_revoked_token_is_refused_at_once_here():
    token, secret = tokens.create(team="payments", role=Role.INTAKE, now=NOW)
    assert tokens.principal_of(secret, now=NOW)
    tokens.revoke(prefix=token.prefix, now=NOW)
    assert tokens.principal_of(secret, now=NOW) is None


def test_token_revoked_by_another_process_is_refused_within_seconds(monkeypatch):
    token, secret = tokens.create(team="payments", role=Role.INTAKE, now=NOW)
    clock = [100.0]
    monkeypatch.setattr(tokens.time, "monotonic", lambda: clock[0])
    assert tokens.principal_of(secret, now=NOW)
    Token.objects.filter(pk=token.pk).update(revoked_at=NOW)
    clock[0] += tokens.REMEMBERED_SECONDS
    assert tokens.principal_of(secret, now=NOW) is None


def test_burst_costs_one_query(django_assert_num_queries):
    _, secret = tokens.create(team="payments", role=Role.INTAKE, now=NOW)
    Token.objects.update(last_used_at=NOW)
    with django_assert_num_queries(1):
        for _ in range(50):
            tokens.principal_of(secret, now=NOW)


def test_last_use_is_written_at_most_once_a_minute():
    token, secret = tokens.create(team="payments", role=Role.INTAKE, now=NOW)

    def used(seconds: int) -> datetime | None:
        tokens.forget()
        tokens.principal_of(secret, now=NOW + timedelta(seconds=seconds))
        token.refresh_from_db()
        return token.last_used_at

    assert used(0) == NOW
    assert used(59) == NOW
    assert used(60) == NOW + timedelta(seconds=60)


def test_revoke_needs_exactly_one():
    for digest in "ab":
        Team.objects.get_or_create(name="t", defaults={"created_at": NOW})
        Token.objects.create(team_id="t", role=0, digest=digest, prefix=f"vst_same{digest}", created_at=NOW)
    with pytest.raises(TokenError, match="More than one"):
        tokens.revoke(prefix="vst_same", now=NOW)
    with pytest.raises(TokenError, match="No live token"):
        tokens.revoke(prefix="vst_other", now=NOW)
    with pytest.raises(TokenError, match="No live token"):
        tokens.revoke(prefix="", now=NOW)
    assert tokens.revoke(prefix="vst_samea", now=NOW).digest == "a"
    with pytest.raises(TokenError, match="No live token"):
        tokens.revoke(prefix="vst_samea", now=NOW)


def test_commands_create_list_revoke():
    out, note = StringIO(), StringIO()
    call_command("token", "create", "--team", "ops", "--role", "operator", stdout=out, stderr=note)
    secret = out.getvalue().strip()
    assert tokens.principal_of(secret, now=NOW).role is Role.OPERATOR

    out = StringIO()
    call_command("token", "list", stdout=out)
    assert secret not in out.getvalue()
    assert secret[: tokens.PREFIX_CHARS] in out.getvalue()
    assert "operator" in out.getvalue()

    out = StringIO()
    call_command("token", "revoke", secret[: tokens.PREFIX_CHARS], stdout=out)
    assert "ops" in out.getvalue()
    assert tokens.principal_of(secret, now=NOW) is None


def test_command_defaults_to_the_least_role():
    out = StringIO()
    call_command("token", "create", "--team", "ops", stdout=out, stderr=StringIO())
    assert Token.objects.get().role == Role.INTAKE


def test_command_says_what_is_wrong():
    with pytest.raises(CommandError, match="No live token"):
        call_command("token", "revoke", "vst_nothing")
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("token", "create", "--team", "ops", "--role", "root")


def test_list_of_nothing_says_what_to_do():
    out = StringIO()
    call_command("token", "list", stdout=out)
    assert "token create" in out.getvalue()


def test_command_says_what_for_and_by_whom():
    call_command("token", "create", "--team", "ops", "--name", "nightly report", stdout=StringIO(), stderr=StringIO())
    token = Token.objects.get()
    assert (token.name, token.created_by) == ("nightly report", "the command line")
    out = StringIO()
    call_command("token", "list", stdout=out)
    assert "nightly report" in out.getvalue()
    call_command("token", "revoke", token.prefix, stdout=StringIO())
    token.refresh_from_db()
    assert token.revoked_by == "the command line"
