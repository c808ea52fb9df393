"""Reading YAML: exact lines, JSON values only, and nothing that explodes."""

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.pipelines import yamlfile
from runs.pipelines.yamlfile import YamlProblem


def refused(text: str | bytes) -> tuple[int, str]:
    began = time.perf_counter()
    with pytest.raises(YamlProblem) as problem:
        yamlfile.parse(yamlfile.decode(text if isinstance(text, bytes) else text.encode()))
    assert time.perf_counter() - began < 10  # on a busy machine; what explodes takes hours
    return problem.value.line, problem.value.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# only a comment", None),
        ("a: 1", {"a": 1}),
        ("a: no\nb: yes\nc: on\nd: off", {"a": "no", "b": "yes", "c": "on", "d": "off"}),
        ("a: true\nb: False\nc: null\nd: ~\ne:", {"a": True, "b": False, "c": None, "d": None, "e": None}),
        ("a: 12:30\nb: 2024-01-02\nc: 1_000\nd: 010", {"a": "12:30", "b": "2024-01-02", "c": "1_000", "d": 10}),
        ("a: 1e3\nb: -.5\nc: 0x1F\nd: 0o17\ne: 1.", {"a": 1000.0, "b": -0.5, "c": 31, "d": 15, "e": 1.0}),
        ("a: '1'\nb: \"true\"\nc: !!str 5", {"a": "1", "b": "true", "c": "5"}),
        ("a: |\n  x\n   y\nb: >\n  x\n  y\n", {"a": "x\n y\n", "b": "x y\n"}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        (
            "a: &x {b: 1}\nd: &y {e: 2}\nf: {<<: [*x, *y], g: 3}",
            {"a": {"b": 1}, "d": {"e": 2}, "f": {"b": 1, "e": 2, "g": 3}},
        ),
        ("\ufeffa: 1", {"a": 1}),
        ("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ("---\na: 1\n...\n", {"a": 1}),
        ("a: é\U0001f600", {"a": "é\U0001f600"}),
    ],
)
def test_values(text, value):
    assert yamlfile.parse(yamlfile.decode(text.encode()))[0] == value


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: 2\na: 3", 3, "the key 'a' appears twice (first on line 1)"),
        ("x:\n  - a: 1\n    a: 2", 3, "appears twice (first on line 2)"),
        ("a: {<<: &x {b: 1}, b: 2, b: 3}", 1, "appears twice"),
        ("a: 1\n\tb: 2", 2, "a tab is used for indentation"),
        ("a: 1\nb: [1, 2", 2, "not valid YAML"),
        ("a: b: c", 1, "not valid YAML"),
        ("a: 'x", 1, "not valid YAML"),
        ("1: x", 1, "the key '1' is not a text; put it in quotes"),
        ("a:\n  true: x", 2, "the key 'true' is not a text"),
        ("? [a]\n: 1", 1, "a key must be a text"),
        ("? {a: 1}\n: 1", 1, "a key must be a text"),
        ("a: &x b\n*x : 1", 2, "an alias cannot be a key"),
        ("a: *nope", 1, "nope"),
        ("a: 1\n---\nb: 2", 2, "a second document begins"),
        ("a: !!python/object/apply:os.system [ls]", 1, "is not allowed"),
        ("a: !!binary aGVsbG8=", 1, "is not allowed"),
        ("a: !!set {b, c}", 1, "is not allowed"),
        ("a: !custom 1", 1, "is not allowed"),
        ("a: .nan", 1, ".nan is not a number"),
        ("a: -.inf", 1, "is not a number"),
        ("a: 1e999", 1, "too large"),
        ("a: 99999999999999999999", 1, "too large"),
        ('x: 1\na: "\\0"', 2, "NUL"),
        ("<<: 3", 1, "<< takes an alias"),
        (b"a: 1\nb: \xff\xfe", 2, "not UTF-8"),
        (b"\xff\xfea\x00:\x00", 1, "UTF-16"),
        (b"a: 1\nb: x\x00y", 2, "NUL byte"),
        (b"a: \x07", 1, "not valid YAML"),
        ("a: " + "x" * 1_000_001, 0, "bytes long; at most 1000000"),
    ],
)
def test_mistakes_have_a_line_and_a_reason(text, line, message):
    found = refused(text)
    assert found[0] == line
    assert message in found[1]


def test_aliases_that_multiply_are_counted_before_they_are_used():
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "more than 100000 values" in refused("\n".join(levels))[1]


def test_merges_that_multiply_are_counted():
    many = "a: &a {" + ", ".join(f"k{n}: 1" for n in range(1000)) + "}\n"
    assert "more than 100000 values" in refused(many + "\n".join(f"m{n}: {{<<: *a}}" for n in range(200)))[1]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused(opening):
    assert "deep" in refused(opening * 50_000)[1] or "nest" in refused(opening * 50_000)[1]


def test_a_value_that_contains_itself_is_refused():
    assert refused("a: &a [*a]")[0] == 1


def test_many_values_are_refused():
    assert "more than 100000 values" in refused("a: [" + "1," * 200_000 + "]")[1]


def test_marks_lead_to_every_value():
    text = "a: 1\nb:\n  - x\n  - c: |\n      one\n      two\n    d: >-\n      three\ne: {f: {g: 1}}\n"
    _, mark = yamlfile.parse(text)
    assert mark.find(("a",)).line == 1
    assert mark.find(("b", 0)).line == 3
    assert (mark.find(("b", 1, "c")).line, mark.find(("b", 1, "c")).text_line) == (4, 5)
    assert mark.find(("e", "f", "g")).line == 9
    assert mark.find(("b", 1, "nothing", "there")).line == 4
    assert mark.find(("b", 1, "d")).key_line == 7


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\u2028\u2029\x85"), max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abcé<- ", min_size=1, max_size=4).filter(lambda key: key != "<<"), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(value=json_values)
def test_any_json_is_read_as_itself(value):
    assert yamlfile.parse(json.dumps(value, ensure_ascii=False))[0] == value
    assert yamlfile.parse(json.dumps(value, indent=1, ensure_ascii=False))[0] == value


@given(text=st.text(max_size=80))
def test_any_text_gives_a_value_or_a_problem(text):
    # Anything but a YamlProblem, a RecursionError say, would end the test.
    with suppress(YamlProblem):
        yamlfile.parse(yamlfile.decode(text.encode("utf-8", "surrogatepass")))
