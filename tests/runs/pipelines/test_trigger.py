"""Which payloads start a pipeline."""

import time

import pytest
from pydantic import ValidationError

from runs.pipelines import patterns
from runs.pipelines.trigger import Trigger, matches

PAYLOAD = {
    "status": "firing",
    "count": 5,
    "on": True,
    "none": None,
    "labels": {"severity": "critical", "load": "12.5", "a.b": "dotted", "instance": "web-01"},
    "data.x": "flat",
    "data": {"x": "nested", "y.z": {"w": 1}},
}


def holds(**conditions) -> bool:
    return matches(Trigger(match={name.replace("__", "."): value for name, value in conditions.items()}), PAYLOAD)


@pytest.mark.parametrize(
    ("field", "condition", "expected"),
    [
        ("status", "firing", True),
        ("status", "resolved", False),
        ("status", {"eq": "firing"}, True),
        ("status", {"ne": "firing"}, False),
        ("status", {"ne": "resolved"}, True),
        ("status", {"in": ["firing", "pending"]}, True),
        ("status", {"in": ["pending"]}, False),
        ("status", {"not_in": ["pending"]}, True),
        ("status", {"not_in": ["firing"]}, False),
        ("labels.severity", "critical", True),
        ("labels.a.b", "dotted", True),
        ("data.x", "flat", True),
        ("data.y.z.w", 1, True),
        ("count", 5, True),
        ("count", 5.0, True),
        ("count", "5", False),
        ("on", True, True),
        ("on", 1, False),
        ("count", True, False),
        ("none", None, True),
        ("none", {"ne": None}, False),
        ("count", {"gt": 4}, True),
        ("count", {"gt": 5}, False),
        ("count", {"gte": 5}, True),
        ("count", {"lt": 5}, False),
        ("count", {"lte": 5}, True),
        ("labels.load", {"gt": 12}, True),
        ("labels.load", {"gt": "12.4"}, True),
        ("labels.severity", {"gt": 1}, False),
        ("on", {"gt": 0}, False),
        ("labels.instance", {"regex": r"^web-\d+$"}, True),
        ("labels.instance", {"regex": "b-0"}, True),
        ("labels.instance", {"regex": "^db"}, False),
        ("count", {"regex": "^5$"}, True),
        ("labels", {"regex": "x"}, False),
        # Absent fields satisfy only what says that something is not so.
        ("nope", None, False),
        ("nope.deep", "x", False),
        ("nope", {"ne": "x"}, True),
        ("nope", {"not_in": ["x"]}, True),
        ("nope", {"in": [None]}, False),
        ("nope", {"regex": ".*"}, False),
        ("nope", {"lt": 1}, False),
        ("status.deeper", "x", False),
    ],
)
def test_one_condition(field, condition, expected):
    assert matches(Trigger(match={field: condition}), PAYLOAD) is expected


def test_all_conditions_must_hold():
    assert holds(status="firing", labels__severity={"in": ["critical"]})
    assert not holds(status="firing", labels__severity="warning")


def test_a_trigger_without_conditions_matches_nothing():
    assert not matches(Trigger(), PAYLOAD)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"equals": 1}, "unknown operator 'equals'"),
        ({"regx": "x"}, "did you mean 'regex'?"),
        ({"eq": 1, "ne": 2}, "exactly one operator, not 2"),
        ({}, "exactly one operator, not 0"),
        ([1], "must be one value, or one operator of eq ne in not_in regex gt gte lt lte"),
        ({"eq": [1]}, "eq takes a text"),
        ({"in": "abc"}, "in takes a list"),
        ({"in": []}, "in takes a list"),
        ({"not_in": [[1]]}, "not_in takes a list"),
        ({"gt": "x"}, "gt takes a number"),
        ({"gt": True}, "gt takes a number"),
        ({"gt": "nan"}, "gt takes a number"),
        ({"regex": 3}, "regex takes a pattern"),
        ({"regex": ""}, "regex takes a pattern"),
        ({"regex": "("}, "regex is not valid"),
        ({"regex": "x" * 501}, "at most 500"),
        ({"regex": "(?:(?:(?:a{1000}){1000}){1000})"}, "more than 20000 times"),
        ({"regex": "((((a{99}){99}){99})b){99,}"}, "more than 20000 times"),
        ({"regex": "[x]{99999}"}, "more than 20000 times"),
    ],
)
def test_a_condition_that_cannot_be_meant_is_refused(condition, message):
    with pytest.raises(ValidationError) as refused:
        Trigger(match={"x": condition})
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "pattern", [r"^(web|db)-\d+$", r"(?i)disk.*full", r"a{3}", r"[(a+)+]", r"\(a+\)+", r"^\w+@\w+\.\w+$"]
)
def test_ordinary_patterns_are_let_through(pattern):
    Trigger(match={"x": {"regex": pattern}})


@pytest.mark.parametrize("pattern", [r"(x+x+)+y", r"(.*.*)*[^b]!", r"^(([a-z])+.)+[A-Z]([a-z])+$", r".*.*.*.*.*!"])
def test_a_pattern_that_never_ends_holds_nobody_up(pattern):
    trigger = Trigger(match={"x": {"regex": pattern}})
    began = time.perf_counter()
    assert not matches(trigger, {"x": "x" * 9_000})
    assert time.perf_counter() - began < 5  # the machine may be busy; such a pattern takes years


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("abc", 3),
        ("a{3}", 3),
        ("a{2,5}b", 6),
        ("(ab){3}", 9),  # a, b and the group itself, three times
        ("((a{3}){2}b)", 10),
        ("\\{3}", 3),  # an escaped brace, and text
        ("[a{9}]", 1),
        ("[]{9}]", 1),
        ("a{,4}", 4),
        ("a{x}", 4),
        (r"\(a{2}", 3),
    ],
)
def test_the_size_of_a_pattern_counts_what_is_repeated(pattern, size):
    assert patterns.size(pattern) == size


def test_a_given_up_pattern_leaves_a_warning(caplog):
    assert not patterns.found(r"(x+x+)+y", "x" * 9_000)
    assert "was given up after" in caplog.text
