"""No page without signing in, and none without the role it names: every address there is, also one added later."""

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

import insights.urls
import runs.views.urls
from tests import factories

pytestmark = pytest.mark.django_db

OPEN = {"home", "login", "logout", "ui-decision-link"}
WRITES = {
    "ui-demo-make", "ui-demo-remove",
    "ui-pause", "ui-resume", "ui-pipeline-pause", "ui-pipeline-resume",
    "ui-run-again",
    "ui-run-cancel", "ui-pipelines-reload", "ui-pipeline-run", "ui-run-mark", "ui-step-mark", "ui-mark-undo",
    "ui-escalation-decide", "ui-escalation-revise", "ui-approval-answer",
    "ui-approval-links", "ui-escalation-links",
    "ui-tokens", "ui-token-revoke",
    "ui-marks", "ui-marks-export", "ui-marks-check", "ui-marks-import",
}  # fmt: skip
MARKERS = {
    "ui-marking-begin", "ui-marking-done", "ui-marking-undo", "ui-marking-blind", "ui-marking-bulk", "ui-marking-step",
    "ui-marking-mark", "ui-marking-skip", "ui-marking-next", "ui-marking-reveal", "ui-marking-trace",
    "ui-marking-text", "ui-marking-made", "ui-marking-take-back",
}  # fmt: skip
OWN = {"ui-settings"}  # what anybody who signs in may set for themselves
VALUES: dict[str, Any] = {
    "UUIDConverter": uuid.UUID(int=1), "IntConverter": 1, "StringConverter": "x", "SlugConverter": "prompt",
    "NameConverter": "a/b", "PathConverter": "a/b",
}  # fmt: skip
URLS = [*runs.views.urls.urlpatterns, *insights.urls.urlpatterns]
PAGES = [pattern for pattern in URLS if pattern.name not in OPEN]

pages = pytest.mark.parametrize("pattern", PAGES, ids=lambda pattern: pattern.name)
methods = pytest.mark.parametrize("method", ["get", "post"])


def address(pattern: URLPattern) -> str:
    """Nothing stands there: who may not come in must not even learn that."""
    converters = pattern.pattern.converters
    kwargs = {name: VALUES[type(converter).__name__] for name, converter in converters.items()}
    return reverse(str(pattern.name), kwargs=kwargs)


@pages
@methods
def test_a_stranger_is_sent_to_sign_in(pattern: URLPattern, method: str) -> None:
    response = getattr(Client(), method)(address(pattern))
    assert response.status_code == 302
    assert response.url.startswith("/ui/login")


@pages
@methods
def test_a_person_without_a_role_is_refused(pattern: URLPattern, method: str) -> None:
    client = Client()
    client.force_login(factories.User.objects.create_user("norole"))
    assert getattr(client, method)(address(pattern)).status_code == 403


@pages
def test_who_may_only_look_changes_nothing(pattern: URLPattern, viewer: Client) -> None:
    refused = viewer.post(address(pattern)).status_code
    assert refused == (302 if pattern.name in OWN else 403 if pattern.name in WRITES | MARKERS else 405)
