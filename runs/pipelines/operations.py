"""Arithmetic, text and list operations of templates, each bounded before it is carried out."""

import operator
import re
from collections.abc import Callable
from typing import Any

from jinja2.runtime import Undefined

from runs.pipelines.budget import MAX_INTEGER_BITS, MAX_ITEMS, TemplateError, current, measured, text_of

_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_CONVERSION = re.compile(
    r"%(?:\((?P<name>[^()]*)\))?(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.(?P<precision>\d*))?(?P<kind>.)?", re.S
)
_MAX_WIDTH = 1_000


def binary(symbol: str, left: Any, right: Any) -> Any:
    """``left symbol right``; a missing value makes the result missing (or raises, where missing is an error)."""
    for side in (left, right):
        if isinstance(side, Undefined):
            return operator.add(side, 0)
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    if numbers:
        return _number(symbol, left, right)
    current().charge()
    if isinstance(left, str):
        return _text(symbol, left, right)
    if symbol == "*" and isinstance(right, str | list | tuple):
        return binary("*", right, left)
    if isinstance(left, list | tuple):
        return _sequence(symbol, left, right)
    raise TemplateError(f"cannot {symbol} {kind_of(left)} and {kind_of(right)}")


_KINDS = {
    "str": "a text",
    "dict": "an object",
    "list": "a list",
    "NoneType": "none",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
}


def kind_of(value: Any) -> str:
    """What a value is, in the words of those who write pipelines."""
    return _KINDS.get(type(value).__name__, type(value).__name__)


def _number(symbol: str, left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        bits = max(left.bit_length(), 1)
        if symbol == "**":
            bits *= abs(right)
        elif symbol == "*":
            bits += right.bit_length()
        if bits > MAX_INTEGER_BITS:
            raise TemplateError("would make a number of more than a thousand digits and was stopped")
    result = _PLAIN[symbol](left, right)
    if isinstance(result, complex):
        raise TemplateError("the result is no real number")
    return result


def _text(symbol: str, left: str, right: Any) -> Any:
    if symbol == "+" and isinstance(right, str):
        current().made(len(left) + len(right))
        return left + right
    if symbol == "*" and isinstance(right, int):
        current().made(len(left) * max(right, 0))
        return left * right
    if symbol == "%":
        return formatted(left, right)
    hint = "; write ~ to join them as text" if symbol == "+" else ""
    raise TemplateError(f"cannot {symbol} a text and {kind_of(right)}{hint}")


def _sequence(symbol: str, left: Any, right: Any) -> Any:
    if symbol == "+" and type(left) is type(right):
        size = len(left) + len(right)
    elif symbol == "*" and isinstance(right, int):
        size = len(left) * max(right, 0)
    else:
        raise TemplateError(f"cannot {symbol} a list and {kind_of(right)}")
    if size > MAX_ITEMS:
        raise TemplateError(f"would make a list of {size} items; at most {MAX_ITEMS}")
    return measured(_PLAIN[symbol](left, right))


def joined(values: tuple[Any, ...]) -> str:
    """The texts of ``values`` one after the other (``~``)."""
    texts = [text_of(value) for value in values]
    current().made(sum(map(len, texts)))
    return "".join(texts)


def formatted(pattern: str, values: Any) -> str:
    """``pattern % values`` with the widths bounded, and no width taken from a value."""
    extra = 0
    for match in _CONVERSION.finditer(pattern):
        if match["kind"] not in tuple("sdifFeEgGxXo%"):
            raise TemplateError(f"{match[0]!r} is no format that can be used here (%s %d %i %f %e %g %x %o)")
        width, precision = int(match["width"] or 0), int(match["precision"] or 0)
        if max(width, precision) > _MAX_WIDTH:
            raise TemplateError(f"{match[0]!r} is wider than {_MAX_WIDTH}")
        extra += width + precision + 400
    items = tuple(values.values()) if isinstance(values, dict) else values if isinstance(values, tuple) else (values,)
    conversions = 1 + pattern.count("%")
    current().made(len(pattern) + extra + conversions * sum(len(text_of(measured(item))) for item in items))
    return pattern % values
