"""``trigger``: which payloads start a pipeline. Pure: values in, a yes or no out."""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from runs.pipelines import patterns
from runs.pipelines.closest import did_you_mean
from runs.pipelines.strict import Strict

_ABSENT = object()


def _number(value: Any) -> float | None:
    """The value as a number; labels are texts, so ``"12.5"`` counts as one. None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _ordered(compare: Callable[[float, float], bool]) -> Callable[[Any, Any], bool]:
    def holds(given: Any, wanted: Any) -> bool:
        left, right = _number(given), _number(wanted)
        return left is not None and right is not None and compare(left, right)

    return holds


def _searches(given: Any, pattern: str) -> bool:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return False
    return patterns.found(pattern, str(given))


def _same(given: Any, wanted: Any) -> bool:
    """Equal, with true and 1 kept apart (in Python they are equal)."""
    return isinstance(given, bool) == isinstance(wanted, bool) and given == wanted


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": _same,
    "ne": lambda given, wanted: not _same(given, wanted),
    "in": lambda given, wanted: any(_same(given, item) for item in wanted),
    "not_in": lambda given, wanted: not any(_same(given, item) for item in wanted),
    "regex": _searches,
    "gt": _ordered(lambda left, right: left > right),
    "gte": _ordered(lambda left, right: left >= right),
    "lt": _ordered(lambda left, right: left < right),
    "lte": _ordered(lambda left, right: left <= right),
}
_TRUE_WHEN_ABSENT = {"ne", "not_in"}
_SCALAR = (str, int, float, bool, type(None))


def _check_pattern(pattern: Any) -> None:
    if not isinstance(pattern, str):
        raise ValueError("regex takes a pattern (text)")
    patterns.check(pattern)


def _check_operand(operator: str, operand: Any) -> None:
    if operator == "regex":
        _check_pattern(operand)
    elif operator in ("in", "not_in"):
        if not isinstance(operand, list) or not operand or not all(isinstance(item, _SCALAR) for item in operand):
            raise ValueError(f"{operator} takes a list of at least one text, number, true, false or null")
    elif operator in ("gt", "gte", "lt", "lte"):
        if _number(operand) is None:
            raise ValueError(f"{operator} takes a number")
    elif not isinstance(operand, _SCALAR):
        raise ValueError(f"{operator} takes a text, a number, true, false or null")


def _check_condition(condition: Any) -> Any:
    if isinstance(condition, _SCALAR):
        return condition
    if not isinstance(condition, dict):
        raise ValueError(f"must be one value, or one operator of {' '.join(_OPERATORS)}")
    if len(condition) != 1:
        raise ValueError(f"must hold exactly one operator, not {len(condition)}")
    [(operator, operand)] = condition.items()
    if operator not in _OPERATORS:
        raise ValueError(f"unknown operator {operator!r}{did_you_mean(operator, _OPERATORS)}")
    _check_operand(operator, operand)
    return condition


Condition = Annotated[Any, AfterValidator(_check_condition)]


class Dedup(Strict):
    """None: as the service's configuration says."""

    enabled: bool | None = None
    window_seconds: Annotated[int, Field(ge=0)] | None = None


class Trigger(Strict):
    match: dict[Annotated[str, Field(min_length=1)], Condition] = {}
    dedup: Dedup = Dedup()


def _field(context: Mapping[str, Any], path: str) -> Any:
    """The value under ``path``; a dot steps into an object unless a key has that very name."""
    if path in context:
        return context[path]
    head, dot, rest = path.partition(".")
    while dot:
        inner = context.get(head)
        if isinstance(inner, Mapping):
            found = _field(inner, rest)
            if found is not _ABSENT:
                return found
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return _ABSENT


def _holds(given: Any, condition: Any) -> bool:
    operator, operand = ("eq", condition) if not isinstance(condition, dict) else next(iter(condition.items()))
    if given is _ABSENT:
        return operator in _TRUE_WHEN_ABSENT
    return _OPERATORS[operator](given, operand)


def matches(trigger: Trigger, context: Mapping[str, Any]) -> bool:
    """Whether a payload's normalised context starts the pipeline: every condition holds.

    A trigger without conditions matches nothing: such a pipeline is started by its name only. A field
    that is absent satisfies only ``ne`` and ``not_in``.
    """
    if not trigger.match:
        return False
    return all(_holds(_field(context, path), condition) for path, condition in trigger.match.items())
