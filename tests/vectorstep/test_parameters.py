"""What an address does not know it refuses, with what it knows: every address there is, also one added later."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver

import vectorstep.urls
from runs.filtering import LONGEST
from runs.models import Role, Signal
from tests import factories
from tests.runs.intake_factories import bearer
from tests.runs.views.marking import waiting
from tests.runs.views.test_doors import VALUES

pytestmark = pytest.mark.django_db


def patterns(urls: Iterable[URLPattern | URLResolver] = vectorstep.urls.urlpatterns) -> Iterator[URLPattern]:
    for one in urls:
        if isinstance(one, URLResolver):
            yield from patterns(one.url_patterns)
        else:
            yield one


def address(pattern: URLPattern, values: Mapping[str, Any] = {}) -> str:
    """With ``values`` by the names of the route; of those that are not given nothing is there."""
    route = str(pattern.pattern)
    for name, converter in pattern.pattern.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower()
        kind = {"string": "str"}.get(kind, kind)
        route = route.replace(f"<{kind}:{name}>", str(values.get(name, VALUES[type(converter).__name__])))
    return f"/{route}"


def methods(pattern: URLPattern) -> list[str]:
    endpoint = getattr(pattern.callback, "view_class", None)
    if pattern.name is None:
        assert endpoint is not None
        return [method for method in ("get", "post") if hasattr(endpoint, method)]
    return ["get", "post"]


def takes(pattern: URLPattern, method: str) -> tuple[str, ...]:
    callback: Any = pattern.callback
    declared = callback if pattern.name else getattr(callback.view_class, method)
    assert hasattr(declared, "parameters"), f"{address(pattern)} does not declare what it takes"
    return tuple(declared.parameters)


# Whoever asks whether the service lives adds what gets past a cache, and no parameter could change the answer.
IGNORING = {"health"}
EVERY = [
    pytest.param(pattern, method, id=f"{method} {pattern.pattern}")
    for pattern in patterns()
    for method in methods(pattern)
    if str(pattern.pattern) not in IGNORING
]
every = pytest.mark.parametrize(("pattern", "method"), EVERY)


@pytest.fixture
def ask(client: Client) -> Any:
    client.force_login(factories.user(role="admin"))
    token = bearer(Role.ADMIN)

    def asked(pattern: URLPattern, method: str, query: str, form: Any = None, values: Mapping[str, Any] = {}) -> Any:
        path = f"{address(pattern, values)}?{query}"
        if pattern.name is not None:
            return getattr(client, method)(path, form)
        body = {"data": {}, "content_type": "application/json"} if method == "post" else {}
        return getattr(client, method)(path, headers=token, **body)

    return asked


def told(response: Any) -> str:
    """The text of a 400; "" where the address has no such method."""
    if response.status_code == 405:
        return ""
    assert response.status_code == 400
    return (
        str(response.json()) if response["Content-Type"] == "application/json" else unescape(response.content.decode())
    )


@every
def test_an_unknown_parameter_is_refused_with_those_there_are(pattern: URLPattern, method: str, ask: Any) -> None:
    text = told(ask(pattern, method, "nonsense=1"))
    names = takes(pattern, method)
    if text:
        assert "There is no parameter “nonsense”." in text
        what = "page" if pattern.name else "endpoint"
        assert (f"It takes: {', '.join(names)}." if names else f"This {what} takes no parameters.") in text


@every
def test_a_parameter_given_twice_is_refused(pattern: URLPattern, method: str, ask: Any) -> None:
    for name in set(takes(pattern, method)) - {"status"}:
        text = told(ask(pattern, method, f"{name}=1&{name}=2"))
        assert not text or f"{name} is given more than once." in text or name == "format"


@every
def test_a_parameter_without_end_is_refused(pattern: URLPattern, method: str, ask: Any) -> None:
    for name in takes(pattern, method):
        text = told(ask(pattern, method, f"{name}={'1' * (LONGEST + 1)}"))
        assert not text or f"{name} is longer than" in text or name == "format"


@pytest.mark.parametrize("pattern", [pattern for pattern in patterns() if pattern.name], ids=lambda one: str(one.name))
def test_a_form_with_an_unknown_field_is_refused(pattern: URLPattern, ask: Any) -> None:
    text = told(ask(pattern, "post", "", {"nonsense": "1"}))
    assert not text or "There is no field “nonsense” in this form." in text


ODD = [
    "", " ", "-1", "0", "00", "1e5", "1.5", "nan", "inf", "1e-999999999", "9" * 18, "9" * 19, "9" * 20, str(2**63 - 1),
    "\u0663" * 9, "0001-01-01", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "x" * LONGEST, "%", "'",
    "all", "true", "a\nb", "..", "\u202e", str(uuid.UUID(int=1)), str(uuid.UUID(int=2**128 - 1)),
]  # fmt: skip


# The live tail hands its connection back, which would be the one of the test's transaction.
ANSWERING = [
    pattern for pattern in patterns() if pattern.name != "ui-run-events" and str(pattern.pattern) not in IGNORING
]


@pytest.mark.parametrize("pattern", ANSWERING, ids=lambda one: str(one.pattern))
def test_no_value_is_an_error_of_the_server(pattern: URLPattern, ask: Any) -> None:
    factories.pipeline("a/b")
    step = waiting("a/b", of=factories.run(status="completed", pipeline_name="a/b"))
    signal = Signal.objects.get()
    there = {"run_id": step.run_id, "step_id": step.id, "signal_id": signal.id, "name": "a/b", "step_name": "a/b"}
    for name in takes(pattern, "get") if "get" in methods(pattern) else ():
        for value in ODD:
            response = ask(pattern, "get", urlencode({name: value}), values=there)
            assert response.status_code < 500, (name, value)
