import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse

from runs.access.principal import Principal
from runs.access.roles import can, role_of, role_required
from runs.models import Role

pytestmark = pytest.mark.django_db


def person(*groups: str, **fields) -> User:
    user = User.objects.create_user(username=f"u{User.objects.count()}", **fields)
    user.groups.set(Group.objects.filter(name__in=groups))
    return user


def test_migrating_makes_the_groups():
    assert set(Group.objects.values_list("name", flat=True)) == {"viewer", "marker", "operator", "admin"}


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["viewer"], Role.VIEWER),
        (["marker", "viewer"], Role.MARKER),
        (["operator"], Role.OPERATOR),
        (["admin", "viewer"], Role.ADMIN),
        ([], None),
    ],
)
def test_highest_group_counts(groups, role):
    assert role_of(person(*groups)) is role


def test_superuser_is_admin_unless_deactivated():
    assert role_of(person(is_superuser=True)) is Role.ADMIN
    assert role_of(person("admin", is_superuser=True, is_active=False)) is None


def test_other_groups_give_nothing():
    Group.objects.create(name="intake")
    assert role_of(person("intake")) is None


def test_nobody_has_no_role():
    assert role_of(None) is None
    assert role_of(AnonymousUser()) is None
    assert not can(None, Role.INTAKE)


def test_role_of_a_user_is_asked_once(django_assert_num_queries):
    user = person("viewer")
    with django_assert_num_queries(1):
        assert not can(user, Role.OPERATOR)
        assert can(user, Role.VIEWER)


def test_token_has_its_own_role():
    principal = Principal(token_id=1, team="t", role=Role.MARKER, prefix="vst_x")
    assert can(principal, Role.VIEWER)
    assert not can(principal, Role.OPERATOR)


@role_required(Role.OPERATOR)
def sync_page(request):
    return HttpResponse("in")


@role_required(Role.OPERATOR)
async def async_page(request):
    return HttpResponse("in")


@pytest.mark.parametrize("page", [sync_page, async_to_sync(async_page)])
def test_role_required(rf, page, settings):
    settings.LOGIN_URL = "/ui/login"
    request = rf.get("/ui/runs?a=1")
    request.user = AnonymousUser()
    answer = page(request)
    assert answer.status_code == 302
    assert "next=/ui/runs%3Fa%3D1" in answer["Location"]

    request.user = person("marker")
    with pytest.raises(PermissionDenied, match=r"role operator.*has the role marker"):
        page(request)

    request.user = person("operator")
    assert page(request).content == b"in"
