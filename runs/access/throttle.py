"""Slowing down whoever guesses passwords."""

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest

FAILURES = 10
WITHIN_SECONDS = 300


class ThrottledBackend(ModelBackend):
    """Django's own check of a password, refused after FAILURES wrong ones of one name from one address.

    Counted by name and address together, so that a stranger cannot lock the administrator out. The
    count lives in Django's cache (by default each web process has its own) and ends WITHIN_SECONDS
    after the first failure. The refusal is a ValidationError, which the login form shows.
    """

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        if request is None:
            return super().authenticate(request, username, password, **kwargs)
        key = _key(request, username or "")
        if cache.get(key, 0) >= FAILURES:
            raise ValidationError(
                f"Too many wrong passwords. Wait {WITHIN_SECONDS // 60} minutes and try again.", code="throttled"
            )
        user = super().authenticate(request, username, password, **kwargs)
        if user is None:
            cache.add(key, 0, WITHIN_SECONDS)
            cache.incr(key)
        else:
            cache.delete(key)
        return user

    def get_user(self, user_id: int) -> User | None:
        """The signed-in user, with what they have set for themselves in the same query."""
        user = User.objects.select_related("preference").filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None

    async def aauthenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        return await sync_to_async(self.authenticate)(request, username, password, **kwargs)


def _key(request: HttpRequest, username: str) -> str:
    # In hexadecimal, because a cache key may hold neither blanks nor every letter a name may.
    return f"login-failures:{request.META.get('REMOTE_ADDR', '')}:{username.casefold().encode().hex()[:150]}"


def too_often(request: HttpRequest, what: str, *, most: int, within: int) -> bool:
    """Count one more ``what`` from the address the request comes from; whether that is more than ``most``.

    The count lives where that of wrong passwords does, and ends ``within`` seconds after its first.
    """
    key = f"{what}:{request.META.get('REMOTE_ADDR', '')}"
    cache.add(key, 0, within)
    try:
        return bool(cache.incr(key) > most)
    except ValueError:  # it has ended in between
        return False
