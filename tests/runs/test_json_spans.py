import json

from hypothesis import example, given
from hypothesis import strategies as st

from runs.json_spans import object_spans

FRAGMENTS = st.sampled_from(
    [
        *(
            "{",
            "}",
            "[",
            "]",
            '"',
            ":",
            ",",
            "\\",
            " ",
            "\n",
            '"a"',
            "1",
            "-0.5e3",
            "01",
            "null",
            "NaN",
            "-Infinity",
            "x",
        ),
        *('{"a":1}', '{"b":[{"c":{}}]}', '"\\u00e9"', '"\\x"', "{}", '{"a":', '"{"'),
    ]
)


def spans_by_trying(text):
    """What object_spans promises, the slow way: try Python's own parser at every brace."""
    found, position = [], 0
    decoder = json.JSONDecoder(strict=False)
    while (start := text.find("{", position)) >= 0:
        position = start + 1
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError:
            continue
        if value:  # an empty object is left out
            found.append((start, end))
            position = end
        else:
            position = end
    return found


@given(st.lists(FRAGMENTS, max_size=30).map("".join))
@example('{"a{"b":1}')
@example('{"a":{"b":1},}')
@example('{"a":[1,]}')
@example('{"a":1 "b":2}')
@example('[{"a":1},{"b":2}')
@example('{"a":"x\ny"}')
def test_agrees_with_trying_everywhere(text):
    assert list(object_spans(text)) == spans_by_trying(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.text(), JSON, min_size=1), st.booleans(), st.sampled_from([None, 1]))
def test_finds_any_object_in_prose(value, ascii_only, indent):
    written = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert list(object_spans(f"prose {{ before: {written} and }} after")) == [(16, 16 + len(written))]
