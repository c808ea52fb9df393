from io import StringIO

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.core.management import CommandError, call_command

from runs.access.throttle import FAILURES, WITHIN_SECONDS

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def empty_cache():
    cache.clear()


def ensure_admin() -> str:
    out = StringIO()
    call_command("ensure_admin", stdout=out)
    return out.getvalue()


def test_first_start_makes_up_a_password_and_prints_it(settings):
    settings.ADMIN_PASSWORD = ""
    printed = ensure_admin()
    password = printed.rsplit(": ", 1)[1].strip()
    assert len(password) >= 20
    assert authenticate(username="admin", password=password).is_superuser


def test_given_password_is_used_and_not_printed(settings):
    settings.ADMIN_PASSWORD = "correct horse battery"
    assert "correct horse" not in ensure_admin()
    assert authenticate(username="admin", password="correct horse battery")


def test_second_start_changes_nothing(settings):
    settings.ADMIN_PASSWORD = "correct horse battery"
    ensure_admin()
    settings.ADMIN_PASSWORD = "another long password"
    assert ensure_admin() == ""
    assert authenticate(username="admin", password="correct horse battery")


def test_someone_in_the_admin_group_is_enough():
    User.objects.create_user("vera").groups.add(Group.objects.get(name="admin"))
    assert ensure_admin() == ""
    assert not User.objects.filter(username="admin").exists()


@pytest.mark.parametrize("weak", ["short", "password", "12345678901"])
def test_weak_password_is_refused(settings, weak):
    settings.ADMIN_PASSWORD = weak
    with pytest.raises(CommandError, match="No administrator was made"):
        ensure_admin()
    assert not User.objects.exists()


def test_deactivated_admin_is_told_about(settings):
    settings.ADMIN_PASSWORD = ""
    User.objects.create_superuser("admin", password="x", is_active=False)
    with pytest.raises(CommandError, match="no active administrator"):
        ensure_admin()


def sign_in(rf, name: str, password: str, address: str = "10.0.0.1") -> AuthenticationForm:
    request = rf.post("/ui/login", REMOTE_ADDR=address)
    return AuthenticationForm(request, {"username": name, "password": password})


def test_guessing_is_stopped_and_others_are_not(rf):
    User.objects.create_user("vera", password="right")
    for _ in range(FAILURES):
        assert "throttled" not in codes(sign_in(rf, "vera", "wrong"))
    assert "throttled" in codes(sign_in(rf, "vera", "right"))
    assert "throttled" in codes(sign_in(rf, "VERA", "right"))
    assert sign_in(rf, "vera", "right", address="10.0.0.2").is_valid()


def test_waiting_helps(rf):
    User.objects.create_user("vera", password="right")
    for _ in range(FAILURES):
        sign_in(rf, "vera", "wrong").is_valid()
    for key in list(cache._expire_info):
        cache._expire_info[key] -= WITHIN_SECONDS
    assert sign_in(rf, "vera", "right").is_valid()


def test_right_password_forgives_earlier_slips(rf):
    User.objects.create_user("vera", password="right")
    for _ in range(3):
        for _ in range(FAILURES - 1):
            sign_in(rf, "vera", "wrong").is_valid()
        assert sign_in(rf, "vera", "right").is_valid()


def codes(form: AuthenticationForm) -> list[str]:
    assert not form.is_valid()
    return [error.code for error in form.non_field_errors().as_data()]
