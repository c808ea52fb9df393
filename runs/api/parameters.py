"""Query parameters, checked: a typo is a 400 that names what is allowed, never a silent default."""

import uuid
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from django.http import QueryDict
from django.utils.dateparse import parse_datetime
from rest_framework.request import Request
from rest_framework.response import Response

from runs.api.errors import BadParameter
from runs.filtering import misused

_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


def takes(*names: str, many: Collection[str] = ()) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
    """For a method of an endpoint: the parameters it has, each given once at most but those in ``many``."""

    def decorate(method: Callable[..., Response]) -> Callable[..., Response]:
        @wraps(method)
        def checked(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
            for name, problem in misused(request.GET, names, many=many, of="endpoint").items():
                raise BadParameter(name[:100], problem, allowed=names)
            return method(self, request, *args, **kwargs)

        checked.parameters = names  # type: ignore[attr-defined]
        return checked

    return decorate


def ignores(method: Callable[..., Response]) -> Callable[..., Response]:
    """For a method whose answer no parameter could change, and which must come whatever is asked (``/health``)."""
    method.parameters = None  # type: ignore[attr-defined]
    return method


def text(query: QueryDict, name: str) -> str | None:
    """A non-empty text, or None when the parameter is absent."""
    if name not in query:
        return None
    given = str(query[name])
    if not given or "\x00" in given:
        raise BadParameter(name, f"{name} must be a text that is not empty.")
    return given


def choice(query: QueryDict, name: str, allowed: Sequence[str]) -> str | None:
    given = text(query, name)
    if given is not None and given not in allowed:
        raise BadParameter(name, f"{name} cannot be {given[:50]!r}.", allowed=allowed)
    return given


def choices(query: QueryDict, name: str, allowed: Sequence[str]) -> list[str]:
    """Several values, repeated or separated by commas; [] when the parameter is absent."""
    given = [part for value in query.getlist(name) for part in value.split(",")]
    for part in given:
        if part not in allowed:
            raise BadParameter(name, f"{name} cannot be {part[:50]!r}.", allowed=allowed)
    return given


def truth(query: QueryDict, name: str) -> bool:
    """False when the parameter is absent; 1 and 0 are taken for true and false."""
    given = query.get(name, "false").lower()
    if given not in _TRUTHS:
        raise BadParameter(name, f"{name} must be true or false, not {given[:50]!r}.", allowed=["true", "false"])
    return _TRUTHS[given]


def number(query: QueryDict, name: str, *, default: int, low: int, high: int) -> int:
    given = query.get(name)
    if given is None:
        return default
    # Twenty digits are more than any column holds; int() of a longer text would only cost time.
    if not given.isascii() or not given.isdigit() or len(given) > 20 or not low <= int(given) <= high:
        raise BadParameter(name, f"{name} must be a whole number from {low} to {high}.", allowed=[f"{low} to {high}"])
    return int(given)


def identity(query: QueryDict, name: str, *, of: str = "a run") -> uuid.UUID | None:
    given = text(query, name)
    if given is None:
        return None
    try:
        return uuid.UUID(given)
    except ValueError as error:
        raise BadParameter(name, f"{name} must be the id of {of}.") from error


def moment(query: QueryDict, name: str) -> datetime | None:
    """An ISO 8601 time; one without an offset is UTC."""
    given = text(query, name)
    if given is None:
        return None
    try:
        # A plus sign that was not escaped arrives as a blank.
        at = parse_datetime(given.replace(" ", "+") if "T" in given else given)
        utc = at and (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        utc = None
    if utc is None:
        raise BadParameter(name, f"{name} must be a time such as 2026-01-31T12:00:00Z.")
    return utc
