"""Who may do what: one ladder of roles, for people (Django groups) and for tokens."""

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from runs.access.principal import Principal
from runs.models import Role

# Nobody signs in to post webhooks, so intake is a role of tokens only.
GROUPS = {role.label: role for role in Role if role is not Role.INTAKE}


def role_of(user: Any) -> Role | None:
    """The highest role of a signed-in user or a token; None for nobody, and for a user without a role.

    The first call for a user costs a query; the answer is kept on the user object.
    """
    if isinstance(user, Principal):
        return user.role
    if user is None or not user.is_authenticated or not user.is_active:
        return None
    if user.is_superuser:
        return Role.ADMIN
    if not hasattr(user, "_vectorstep_role"):
        names = user.groups.filter(name__in=GROUPS).values_list("name", flat=True)
        user._vectorstep_role = max((GROUPS[name] for name in names), default=None)
    return user._vectorstep_role


def can(user: Any, role: Role) -> bool:
    """Whether the user or token holds ``role`` or one above it."""
    held = role_of(user)
    return held is not None and held >= role


def refusal(user: Any, role: Role) -> str:
    """The sentence that says what is missing."""
    held = role_of(user)
    has = f"has the role {held.label}" if held is not None else "has no role"
    return f"This needs the role {role.label}; {name_of(user)} {has}. An administrator can give it."


def name_of(user: Any) -> str:
    """How a log names who did something: the user's name, or the token's team and first characters."""
    return str(user) if isinstance(user, Principal) else user.get_username()


def role_required(role: Role) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """For HTML views, sync or async: nobody signed in goes to the login page, too low a role gets 403."""

    def decorate(view: Callable[..., Any]) -> Callable[..., Any]:
        if iscoroutinefunction(view):

            @wraps(view)
            async def checked_async(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
                refused = await sync_to_async(_refuse)(request, role)
                return refused or await view(request, *args, **kwargs)

            return checked_async

        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            return _refuse(request, role) or view(request, *args, **kwargs)

        return checked

    return decorate


def _refuse(request: HttpRequest, role: Role) -> HttpResponseBase | None:
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if not can(request.user, role):
        raise PermissionDenied(refusal(request.user, role))
    return None
