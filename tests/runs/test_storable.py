import json
import math

from hypothesis import given
from hypothesis import strategies as st

from runs.storable import (
    MAX_DEPTH,
    TOO_DEEP,
    storable,
    storable_count,
    storable_name,
    storable_reason,
    storable_text,
)


def test_text_that_is_fit_stays_itself():
    for text in ("", "plain", "größe 🦉 \u202e", "\ufeff", "\x01\x7f"):
        assert storable_text(text) == text


def test_nul_and_lone_surrogates_become_their_escapes():
    assert storable_text("a\x00b") == "a\\u0000b"
    assert storable_text("\ud83d alone, 🦉 not") == "\\ud83d alone, 🦉 not"


def test_numbers_json_cannot_hold_become_text():
    assert storable([math.nan, math.inf, -math.inf, 1.5, True, None]) == ["nan", "inf", "-inf", 1.5, True, None]
    assert storable(2**4096) == hex(2**4096)
    assert storable(2**4095) == 2**4095


def test_keys_are_text_too():
    assert storable({"k\x00": 1, 2: (3,)}) == {"k\\u0000": 1, "2": [3]}


def test_depth_is_bounded():
    value = []
    for _ in range(100_000):
        value = [value]
    kept = storable(value)
    depth = 0
    while isinstance(kept, list):
        kept, depth = kept[0], depth + 1
    assert (depth, kept) == (MAX_DEPTH, TOO_DEEP)
    while value:  # or freeing it would recurse
        value = value[0]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=[])), inner),
)


@given(ANYTHING)
def test_whatever_comes_can_be_written_as_utf8_json_and_is_left_alone_the_second_time(value):
    kept = storable(value)
    json.dumps(kept, allow_nan=False, ensure_ascii=False).encode("utf-8")
    assert "\\u0000" not in json.dumps(kept).replace("\\\\", "")
    assert storable(kept) == kept


def test_a_name_stays_itself_up_to_200_bytes_and_is_cut_and_told_apart_after_that():
    assert storable_name("x" * 200) == "x" * 200
    one, other = storable_name("x" * 201), storable_name("x" * 202)
    assert one != other
    assert one.startswith("x" * 100)
    for name in (one, storable_name("é" * 150), storable_name("🦉" * 60)):
        assert len(name.encode()) <= 200
        assert storable_name(name) == name


def test_a_count_that_no_column_holds_is_not_reported():
    assert [storable_count(n) for n in (None, 0, 2**31 - 1, 2**31, -1)] == [None, 0, 2**31 - 1, None, None]


def test_a_reason_is_cut_after_what_escapes_made_of_it():
    assert storable_reason("x" * 2_000) == "x" * 2_000
    assert storable_reason("x" * 2_001) == "x" * 2_000 + "…"
    assert storable_reason("\x00" * 2_000) == ("\\u0000" * 2_000)[:2_000] + "…"
