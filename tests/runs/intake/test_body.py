from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.intake import body
from runs.intake.body import MAX_DEPTH
from runs.intake.refusals import BadPayload


def nested(depth: int) -> bytes:
    """An object ``depth`` levels deep, itself the first."""
    return b'{"a":' * depth + b"1" + b"}" * depth


def test_object():
    assert body.parse('\ufeff{"a": [1, 2.5, "é", null]}'.encode()) == {"a": [1, 2.5, "é", None]}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"a": 1} {}', "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"[]", "must be a JSON object, not a list"),
        (b"null", "not null"),
        (b'"x"', "not text"),
        (b"true", "not a boolean"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1e999}', "1e999"),
        (b'{"a": ' + b"9" * 5000 + b"}", "number"),
        (nested(MAX_DEPTH + 1), "deep"),
        (nested(100_000), "deep"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deep"),
    ],
)
def test_refused(raw, says):
    with pytest.raises(BadPayload, match=says):
        body.parse(raw)


def test_deepest_allowed():
    assert body.parse(nested(MAX_DEPTH))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_refused(raw):
    with suppress(BadPayload):
        assert isinstance(body.parse(raw), dict)
