"""What pages are asked for in their address, checked before anything looks it up."""

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, QueryDict
from django.utils.deprecation import MiddlewareMixin

from runs.api.errors import is_html_path
from runs.filtering import misused

BIGGEST = 10**18 - 1  # room for a step further in a column of 64 bits
SEARCHED_CHARS = 200


class BadAddress(BadRequest):
    """An address that asks for what is not offered; its text says so to the reader, and names what is."""


class NothingThere(Http404):
    """A 404 whose text tells the reader what is missing; the page links to ``back``."""

    def __init__(self, text: str, *, back: str, back_label: str) -> None:
        super().__init__(text)
        self.back = back
        self.back_label = back_label


class RefuseNul(MiddlewareMixin):
    """400 for an address with a NUL, in which PostgreSQL cannot even look for anything.

    The JSON API names the parameter that holds it (``runs.api.parameters``).
    """

    def process_request(self, request: HttpRequest) -> None:
        """Raises BadRequest."""
        if is_html_path(request.path) and ("\x00" in request.path or "%00" in request.META.get("QUERY_STRING", "")):
            raise BadRequest("a NUL in the address")


def parameters(*names: str, form: Collection[str] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """For a view, sync or async: its address takes the parameters ``names``, and what is posted the fields ``form``.

    Anything else, or one of them twice, is answered with 400 and what is taken. Stands below the roles, so that who
    may not see the page is told of that first.
    """

    def decorate(view: Callable[..., Any]) -> Callable[..., Any]:
        if iscoroutinefunction(view):

            @wraps(view)
            async def checked_async(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                _check(request, names, form)
                return await view(request, *args, **kwargs)

            checked: Any = checked_async
        else:

            @wraps(view)
            def checked_sync(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                _check(request, names, form)
                return view(request, *args, **kwargs)

            checked = checked_sync
        checked.parameters = names
        return checked

    return decorate


def _check(request: HttpRequest, names: Collection[str], form: Collection[str]) -> None:
    problems = list(misused(request.GET, names).values())
    if request.method == "POST":
        problems += [_misposted(name, form) for name in request.POST if name not in {*form, "csrfmiddlewaretoken"}]
    if problems:
        raise BadAddress(" ".join(problems))


def _misposted(name: str, form: Collection[str]) -> str:
    fields = f"It has: {', '.join(form)}." if form else "It has none."
    return f"There is no field “{name[:80]}” in this form. {fields}"


def one_of(query: QueryDict, name: str, allowed: Collection[str]) -> str:
    """One of ``allowed``, or "" when it is absent or empty. Raises BadAddress."""
    given = query.get(name, "")
    if given and given not in allowed:
        raise BadAddress(f"{name} “{given[:80]}” is not known. Allowed: {', '.join(allowed)}.")
    return given


def whole_number(
    query: QueryDict | Mapping[str, str], name: str, *, default: int | None = None, low: int = 0, high: int = BIGGEST
) -> int:
    """A whole number from ``low`` to ``high``, ``default`` when it is absent. Raises BadAddress; also for an absent
    one without a default, and an empty one always.
    """
    if default is not None and name not in query:
        return default
    given = query.get(name, "")
    if not (given.isascii() and given.isdigit() and len(given) < 20 and low <= int(given) <= high):
        range_ = f"of {low} or more" if high == BIGGEST else f"from {low} to {high}"
        raise BadAddress(f"{name} must be a whole number {range_}, not “{given[:80]}”.")
    return int(given)


def searched(query: QueryDict, name: str) -> str:
    """The part of a name that a list is narrowed by; "" for all. Raises BadAddress."""
    given = query.get(name, "").strip()
    if len(given) > SEARCHED_CHARS:
        raise BadAddress(f"{name} must be at most {SEARCHED_CHARS} characters.")
    return given
