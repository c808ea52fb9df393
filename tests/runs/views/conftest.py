import pytest
from django.test import Client

from runs.engine.work import Work
from tests import factories


@pytest.fixture
def viewer(db: None) -> Client:
    client = Client()
    client.force_login(factories.user(role="viewer"))
    return client


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(factories.user("olga", role="operator"))
    return client


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[Work]:
    """The works published, instead of a broker (which tests/integration has)."""
    sent: list[Work] = []
    monkeypatch.setattr("runs.engine.publish._send", lambda works, delay: sent.extend(works))
    return sent
