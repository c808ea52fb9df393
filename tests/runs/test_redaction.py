"""Secrets of the server never reach a stored text."""

import pytest

from runs import redaction
from runs.storable import storable, storable_text


@pytest.fixture(autouse=True)
def known(monkeypatch, settings):
    monkeypatch.setenv("GRAFANA_TOKEN", "glsa_0123456789")
    monkeypatch.setenv("SHORT_TOKEN", "abc")
    monkeypatch.setenv("MONKEY", "bananas-everywhere")
    monkeypatch.setenv("DATABASE_URL", "postgresql://vs:p%40ssw0rd-long@db/vs")
    settings.SECRET_KEY = "the-signing-key-of-the-server"
    redaction.forget()
    yield
    redaction.forget()


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("Authorization: Bearer glsa_0123456789", "Authorization: Bearer [redacted]"),
        ("key=the-signing-key-of-the-server;", "key=[redacted];"),
        ("p%40ssw0rd-long and p@ssw0rd-long", "[redacted] and [redacted]"),
        ("abc stays, and so do bananas-everywhere", "abc stays, and so do bananas-everywhere"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_known_secrets_are_hidden(text, stored):
    assert storable_text(text) == stored


def test_in_keys_and_values_of_any_depth():
    assert storable({"glsa_0123456789": [{"a": "x glsa_0123456789"}]}) == {"[redacted]": [{"a": "x [redacted]"}]}
