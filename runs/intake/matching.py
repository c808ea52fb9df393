"""Whether a pipeline's ``trigger.match`` holds for a context. Pure."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

_MISSING = object()
# A pattern of the pipeline's author meets a sender's text: a bounded text bounds what it can cost.
_REGEX_CHARS = 2_000


def matches(conditions: Mapping[str, Any], context: Mapping[str, Any]) -> bool:
    """Every condition holds. Without conditions nothing matches: such a pipeline is started by name only."""
    return bool(conditions) and all(_holds(condition, look_up(context, field)) for field, condition in conditions.items())


def look_up(context: Mapping[str, Any], field: str) -> Any:
    """The value a trigger calls ``field``: of the context itself, else of its labels, its metadata, its data.

    A dotted name walks into objects. A field that is not there is None.
    """
    for place in (context, context.get("labels"), context.get("metadata"), context.get("data")):
        found = _walk(place, field)
        if found is not _MISSING:
            return found
    return None


def _walk(place: Any, field: str) -> Any:
    if not isinstance(place, Mapping):
        return _MISSING
    if field in place:
        return place[field]
    head, dot, rest = field.partition(".")
    return _walk(place.get(head), rest) if dot else _MISSING


def _holds(condition: Any, value: Any) -> bool:
    if not isinstance(condition, Mapping):
        return _equal(value, condition)
    return all(_OPERATORS[operator](value, expected) for operator, expected in condition.items())


def _equal(value: Any, expected: Any) -> bool:
    """Numbers compare by size even where a label wrote them as text; true is not 1."""
    if isinstance(value, bool) or isinstance(expected, bool):
        return _written(value) == _written(expected)
    if isinstance(expected, int | float) or isinstance(value, int | float):
        left, right = _number(value), _number(expected)
        return left is not None and left == right
    return bool(value == expected)


def _written(value: Any) -> Any:
    """A label can only write a boolean as text."""
    return str(value).lower() if isinstance(value, bool) else value


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _ordered(compare: Callable[[float, float], bool]) -> Callable[[Any, Any], bool]:
    def holds(value: Any, expected: Any) -> bool:
        left, right = _number(value), _number(expected)
        return left is not None and right is not None and compare(left, right)

    return holds


def _regex(value: Any, pattern: Any) -> bool:
    return isinstance(value, str) and _compiled(str(pattern)).search(value[:_REGEX_CHARS]) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _among(value: Any, expected: Any) -> bool:
    return any(_equal(value, one) for one in expected)


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": _equal,
    "ne": lambda value, expected: not _equal(value, expected),
    "in": _among,
    "not_in": lambda value, expected: not _among(value, expected),
    "regex": _regex,
    "gt": _ordered(lambda left, right: left > right),
    "gte": _ordered(lambda left, right: left >= right),
    "lt": _ordered(lambda left, right: left < right),
    "lte": _ordered(lambda left, right: left <= right),
}
