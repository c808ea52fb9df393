import pytest

from runs.access import tokens
from runs.intake import backlog


@pytest.fixture(autouse=True)
def fresh_memory():
    """What a process remembers for a second or two must not reach the next test."""
    tokens.forget()
    backlog.forget()


@pytest.fixture(autouse=True)
def published(monkeypatch):
    """The works published, instead of a broker (which tests/integration has)."""
    sent = []
    monkeypatch.setattr("runs.engine.publish._send", lambda works, delay: sent.extend(works))
    return sent
