"""The output of a step as the fields of a form, and back again. A text stands as it is, anything else as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs.views.step_config import value_text

# More than this, and the output is offered as JSON alone.
FIELDS_AT_ONCE = 60
# It is what the agent said of itself, and the gate has judged it: nothing a person could put right.
NOT_OFFERED = "confidence"


class BadJson(Exception):
    """The text is no JSON object; the message says where it goes wrong."""


@dataclass(frozen=True)
class Field:
    """``kind`` is text, truth (true or false) or json; ``problem`` is what is wrong with ``value`` as it was typed."""

    name: str
    kind: str
    value: str
    problem: str = ""

    @property
    def rows(self) -> int:
        """How high the field is: as high as its text, within reason."""
        least = 2 if self.kind == "text" else 1
        return min(16, max(least, self.value.count("\n") + len(self.value) // 90 + 1))


def fields_of(output: Mapping[str, Any], problems: Mapping[str, str] = {}) -> list[Field]:
    """A field for each name, with the problem found there."""
    return [
        Field(name, _kind(value), value_text(value), problems.get(name, ""))
        for name, value in output.items()
        if name != NOT_OFFERED
    ]


def typed(output: Mapping[str, Any], names: Sequence[str], values: Sequence[str]) -> list[Field]:
    """The fields as somebody filled them in: those of ``output``, by name, each with a problem where it has one.

    Raises KeyError for a name that is no field, or left out.
    """
    given = dict(zip(names, values, strict=True))
    if set(given) != set(output) - {NOT_OFFERED}:
        raise KeyError(", ".join(sorted(set(given) ^ (set(output) - {NOT_OFFERED}))))
    return [_typed(name, value, given[name]) for name, value in output.items() if name != NOT_OFFERED]


def output_of(output: Mapping[str, Any], fields: Sequence[Field]) -> dict[str, Any]:
    """``output`` with what was typed into ``fields``, none of which has a problem."""
    made = dict(output)
    for field in fields:
        made[field.name] = _value(field, output[field.name])
    return made


def read_object(text: str) -> dict[str, Any]:
    """Raises BadJson."""
    found = _read(text)
    if not isinstance(found, dict):
        raise BadJson("This must be a JSON object, written in braces: {…}.")
    return found


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else "truth" if isinstance(value, bool) else "json"


def _typed(name: str, before: Any, text: str) -> Field:
    field = Field(name, _kind(before), text)
    if field.kind == "text":
        return field
    try:
        _read(text)
    except BadJson as error:
        return Field(name, field.kind, text, str(error))
    return field


def _value(field: Field, before: Any) -> Any:
    if field.kind != "text":
        return _read(field.value)
    # Browsers send every line break as two characters.
    plain = field.value.replace("\r\n", "\n")
    return before if plain == str(before).replace("\r\n", "\n") else plain


def _read(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise BadJson(f"This is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from error
    except RecursionError as error:
        raise BadJson("This is nested too deeply.") from error
    except ValueError as error:
        raise BadJson(str(error)) from error


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number in JSON.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"“{twice[:80]}” is stated twice in one object.")
    return built
