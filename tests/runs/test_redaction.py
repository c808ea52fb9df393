"""Secrets of the server never reach a stored text."""

import pytest

from runs import redaction
from runs.pipelines import templating
from runs.storable import storable, storable_text
from vectorstep import config


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


def test_what_a_pipeline_takes_from_the_environment_is_hidden_whatever_its_variable_is_called(monkeypatch):
    hook = "https://hooks.example.com/services/T0/B0/x7Kq"
    monkeypatch.setenv("CHAT_HOOK", hook)
    assert storable_text(hook) == hook  # nobody has used it
    rendered, _warnings = templating.render_config({"url": "${CHAT_HOOK}"}, {})
    assert rendered == {"url": hook}
    assert storable_text(f"POST {hook} gave 404") == "POST [redacted] gave 404"


def test_what_the_configuration_takes_from_the_environment_is_hidden(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text('executors: {gateway: {rest_url: "https://gw.example.com/${GATEWAY_PATH}"}}')
    config.load(file, environ={"GATEWAY_PATH": "k3y-in-the-path"})
    assert storable_text("asked https://gw.example.com/k3y-in-the-path") == "asked https://gw.example.com/[redacted]"


@pytest.mark.parametrize(
    "value",
    [
        "production",
        "us-east-1",
        "application/json",
        "http://10.20.30.40:8080/",
        "db.internal:5432",
        "http://[fd00::1]:80",
    ],
)
def test_plain_words_and_bare_addresses_stay_readable(value):
    redaction.learn(value)
    assert storable_text(f"of {value}.") == f"of {value}."


@pytest.mark.parametrize(
    "value",
    ["eyJhbGci.eyJzdWIi.c2lnbmVk", "0b9e4c1a-77aa", "https://db.internal/?key=abc", "12345678", "hunter2hunter2"],
)
def test_whatever_may_be_a_key_is_hidden(value):
    redaction.learn(value)
    assert storable_text(f"of {value}.") == "of [redacted]."
