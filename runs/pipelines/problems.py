"""What is wrong with a file, where, and what was expected."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from runs.pipelines.closest import did_you_mean

Location = tuple[str | int, ...]


@dataclass(frozen=True, order=True)
class Problem:
    """``line`` counts from 1; 0 where the whole file is meant. ``field`` is a path such as ``steps[0].when``."""

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.field}: {self.message}" if self.field else f"{place}: {self.message}"

    def to_json(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "field": self.field, "message": self.message}


def field_path(location: Iterable[str | int]) -> str:
    """``("steps", 0, "when")`` as ``steps[0].when``."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def within(data: Any, location: Location, *, absent: bool) -> Location:
    """A pydantic location without what is not in the data (the tags of unions).

    ``absent``: the last part is a field that should be there, and is kept.
    """
    found: list[str | int] = []
    for position, part in enumerate(location):
        inside = part in data if isinstance(data, Mapping) else isinstance(data, list) and isinstance(part, int)
        if inside:
            data = data[part]
        elif not absent or position != len(location) - 1:
            continue
        found.append(part)
    return tuple(found)


_EXPECTED = {
    "bool_type": "true or false",
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "list_type": "a list",
    "dict_type": "an object (key: value)",
    "model_type": "an object (key: value)",
    "model_attributes_type": "an object (key: value)",
}
_KINDS = {bool: "true or false", str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}


def _found(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str | int | float | bool):
        shown = repr(value) if not isinstance(value, bool) else str(value).lower()
        return f"{_KINDS.get(type(value), 'a value')} ({shown[:60]})"
    return _KINDS.get(type(value), "something else")


def _model_at(model: type[BaseModel], location: Location) -> set[str]:
    """The keys known to the innermost model an ``extra_forbidden`` location points into."""
    current: Any = model
    for part in location:
        current = _step_into(current, part)
        if current is None:
            return set()
    return _keys(current)


def _keys(model: Any) -> set[str]:
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return set()
    return {field.alias or name for name, field in model.model_fields.items()}


def _step_into(current: Any, part: str | int) -> Any:
    """The type behind one part of a location: a field, an item, or the member of a union its tag names."""
    if isinstance(current, type) and issubclass(current, BaseModel):
        for name, field in current.model_fields.items():
            if part in (name, field.alias):
                return _unwrapped(field.annotation)
        return None
    members = getattr(current, "members", None)
    if members is None:
        return None
    if isinstance(part, int):
        return current
    tagged = [member for member in members if _is_tagged(member, part)]
    if tagged:
        return tagged[0]
    return None


def _is_tagged(member: Any, tag: str) -> bool:
    if not (isinstance(member, type) and issubclass(member, BaseModel)):
        return False
    kind = member.model_fields.get("type")
    if kind is not None:
        return tag in getattr(kind.annotation, "__args__", ())
    return member.__name__.removesuffix("Entry").lower() == tag.replace("_", "")


@dataclass(frozen=True)
class _Union:
    members: tuple[Any, ...]


def _unwrapped(annotation: Any) -> Any:
    """The model inside ``list[...]``, ``... | None`` and ``Annotated``; several become a ``_Union``."""
    models: list[Any] = []
    pending = [annotation]
    while pending:
        item = pending.pop()
        if isinstance(item, type) and issubclass(item, BaseModel):
            models.append(item)
        else:
            pending.extend(getattr(item, "__args__", ()))
    if len(models) > 1:
        return _Union(tuple(models))
    return models[0] if models else None


def describe(error: Mapping[str, Any], model: type[BaseModel]) -> str:
    """One pydantic error in words a writer of pipelines can use."""
    kind, context = error["type"], error.get("ctx") or {}
    if kind == "extra_forbidden":
        name = str(error["loc"][-1])
        return f"unknown field{did_you_mean(name, _known_beside(model, error['loc']))}"
    if kind == "missing":
        return "is required"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, found {_found(error.get('input'))}"
    if kind in ("literal_error", "union_tag_invalid"):
        expected = str(context.get("expected") or context.get("expected_tags"))
        return _not_one_of(error.get("input"), expected, kind)
    if kind == "union_tag_not_found":
        return "is required: shell, webhook or human"
    if kind == "value_error":
        return str(context["error"])
    said = error["msg"].removeprefix("Input should be ")
    return f"must be {said}, found {_found(error.get('input'))}" if said != error["msg"] else _plain(error)


def _plain(error: Mapping[str, Any]) -> str:
    return f"{error['msg'][0].lower()}{error['msg'][1:]}, found {_found(error.get('input'))}"


def _not_one_of(given: Any, expected: str, kind: str) -> str:
    if kind == "union_tag_invalid" and isinstance(given, Mapping):
        given = given.get("type")
    allowed = [item.strip().strip("'") for item in expected.replace(" or ", ", ").split(",")]
    near = did_you_mean(given, allowed) if isinstance(given, str) else ""
    if not near.startswith("; did"):
        near = ""
    return f"must be one of {', '.join(allowed)}, found {_found(given)}{near}"


def _known_beside(model: type[BaseModel], location: Location) -> set[str]:
    return _model_at(model, _collapsed(location[:-1]))


def _collapsed(location: Location) -> Location:
    return tuple(part for part in location if not isinstance(part, int))


def schema_problems(
    error: ValidationError, model: type[BaseModel], data: Any, prefix: Location = ()
) -> list[tuple[Location, str]]:
    """Each finding as (location in the file's data, message)."""
    findings = []
    for finding in error.errors(include_url=False):
        location = within(data, finding["loc"], absent=finding["type"] == "missing")
        if finding["type"] in ("union_tag_invalid", "union_tag_not_found"):
            location = (*location, "type")
        findings.append(((*prefix, *location), describe(finding, model)))
    return findings
