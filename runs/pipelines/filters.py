"""The filters and tests templates may use: a fixed list, each bounded in what it takes and makes."""

import functools
import json
import textwrap
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jinja2 import filters as jinja_filters
from jinja2 import tests as jinja_tests
from jinja2.runtime import LoopContext, Macro, Undefined
from jinja2.utils import Namespace

from runs.pipelines.budget import MAX_ITEMS, TemplateError, current, measured, text_of
from runs.pipelines.closest import words
from runs.pipelines.operations import formatted

FORGIVING_FILTERS = frozenset({"default", "d"})
FORGIVING_TESTS = frozenset({"defined", "undefined"})
_FROM_JINJA = words(
    "abs batch capitalize default d dictsort filesizeformat first float groupby indent int items last length count "
    "list lower map max min reject rejectattr reverse select selectattr slice sort title trim truncate unique upper "
    "wordcount"
)
_TESTS_FROM_JINJA = words(
    "boolean defined divisibleby eq equalto == even false float ge >= gt greaterthan > in integer iterable le <= "
    "lower lt lessthan < mapping ne != none number odd sequence string true undefined upper"
)


def limited_range(*bounds: int) -> list[int]:
    """``range`` as a list, so that nothing downstream can be longer than it looks."""
    numbers = range(*bounds)
    if len(numbers) > MAX_ITEMS:
        raise TemplateError(f"range of {len(numbers)} items; at most {MAX_ITEMS}")
    current().charge(len(numbers) / 50)
    return list(numbers)


def each(values: Any) -> Any:
    """The items of a ``for`` loop, each pass charged."""
    if isinstance(values, Undefined):
        return values
    if isinstance(values, int | float | bool) or values is None:
        raise TemplateError(f"cannot loop over {values!r}")
    return _Each(values)


class _Each:
    def __init__(self, values: Iterable[Any]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Any]:
        charge = current().charge
        for value in self._values:
            charge()
            yield value

    def __len__(self) -> int:
        return len(self._values)  # type: ignore[arg-type]


def _tojson(value: Any, indent: int | None = None) -> str:
    if indent is not None and not 0 <= indent <= 16:
        raise TemplateError("tojson: indent is from 0 to 16")
    measured(value)
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    current().made(len(text))
    return text


def _join(value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    parts = [text_of(item if attribute is None else item.get(attribute, "")) for item in value]
    current().made(sum(map(len, parts)) + len(d) * len(parts))
    return d.join(parts)


def _replace(value: Any, old: str, new: str, count: int | None = None) -> str:
    text, old, new = text_of(value), text_of(old), text_of(new)
    found = len(text) + 1 if not old else text.count(old)
    current().made(len(text) + max(0, len(new) - len(old)) * found)
    return text.replace(old, new, -1 if count is None else count)


def _indent(value: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    text = text_of(value)
    step = width if isinstance(width, str) else " " * min(max(width, 0), 1_000)
    current().made(len(text) + (text.count("\n") + 2) * len(step))
    return str(jinja_filters.do_indent(text, step, first, blank))


def _center(value: Any, width: int = 80) -> str:
    current().made(max(width, 0))
    return text_of(value).center(width)


def _format(value: str, *args: Any, **kwargs: Any) -> str:
    return formatted(text_of(value), kwargs or args)


def _urlencode(value: Any) -> str:
    if isinstance(value, dict):
        return urllib.parse.urlencode({text_of(key): text_of(item) for key, item in measured(value).items()})
    return urllib.parse.quote(text_of(value), safe="")


def _round(value: Any, precision: int = 0, method: str = "common") -> float:
    if not -300 <= precision <= 300:
        raise TemplateError("round: the precision is from -300 to 300")
    return float(jinja_filters.do_round(value, precision, method))  # type: ignore[arg-type]


def _sum(value: Iterable[Any], attribute: str | None = None, start: float = 0) -> float:
    for item in value:
        number = item if attribute is None else item[attribute]
        if not isinstance(number, int | float) or not isinstance(start, int | float):
            raise TemplateError("sum takes numbers")
        start += number
    return start


def _wordwrap(value: Any, width: int = 79, break_long_words: bool = True, wrapstring: str = "\n") -> str:
    text = text_of(value)
    current().made(len(text) + (len(text) // max(width, 1) + text.count("\n") + 1) * len(wrapstring))
    return "\n".join(
        wrapstring.join(textwrap.wrap(line, max(width, 1), break_long_words=break_long_words))
        for line in text.split("\n")
    )


def _string(value: Any) -> str:
    return text_of(value)


def _bounded_size(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """For ``batch`` and ``slice``, whose argument says how many parts to make."""

    @functools.wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        for number in [*args[-2:], *kwargs.values()]:
            if isinstance(number, int) and not 0 < number <= MAX_ITEMS:
                raise TemplateError(f"{name}: the count must be from 1 to {MAX_ITEMS}")
        return list(function(*args, **kwargs))

    return limited


_OWN: dict[str, Callable[..., Any]] = {
    "center": _center,
    "format": _format,
    "indent": _indent,
    "join": _join,
    "replace": _replace,
    "round": _round,
    "string": _string,
    "sum": _sum,
    "tojson": _tojson,
    "urlencode": _urlencode,
    "wordwrap": _wordwrap,
}
_OPAQUE = (Macro, LoopContext, Namespace)


def _charged(name: str, function: Callable[..., Any], forgiving: bool) -> Callable[..., Any]:
    """``function`` as a filter that is paid for, keeps a missing value missing and measures what it makes."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        budget = current()
        subject = args[1] if hasattr(function, "jinja_pass_arg") and len(args) > 1 else args[0]
        if isinstance(subject, Undefined) and not forgiving:
            return subject.used_by(name)
        if isinstance(subject, _OPAQUE):
            raise TemplateError(f"{name} cannot take a macro, loop or namespace")
        if isinstance(subject, str | list | tuple | dict):
            budget.charge(1 + len(subject) / 100)
        else:
            budget.charge()
        result = function(*args, **kwargs)
        if isinstance(result, str):
            budget.made(len(result))
            return str(result)
        if isinstance(result, Iterator):
            return _collected(result)
        return measured(result)

    return run


def _collected(items: Iterator[Any]) -> list[Any]:
    charge = current().charge
    found = []
    for item in items:
        charge()
        found.append(item)
        if len(found) > MAX_ITEMS * 5:
            raise TemplateError(f"made a list of more than {MAX_ITEMS * 5} items and was stopped")
    measured(found)
    return found


def _all_filters() -> dict[str, Callable[..., Any]]:
    chosen: dict[str, Any] = {name: jinja_filters.FILTERS[name] for name in _FROM_JINJA}
    for name in ("batch", "slice"):
        chosen[name] = _bounded_size(name, chosen[name])
    chosen.update(_OWN)
    return {name: _charged(name, function, name in FORGIVING_FILTERS) for name, function in chosen.items()}


def _all_tests() -> dict[str, Callable[..., Any]]:
    return {name: _tested(name, jinja_tests.TESTS[name]) for name in _TESTS_FROM_JINJA}


def _tested(name: str, function: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> bool:
        current().charge()
        if name not in FORGIVING_TESTS and isinstance(args[0], Undefined):
            return bool(args[0].used_by(name))
        return bool(function(*args, **kwargs))

    return run


FILTERS = _all_filters()
TESTS = _all_tests()
EACH = "each of the loop"
