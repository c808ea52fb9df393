"""Reading a payload nobody has checked: each reader gives the value asked for, or says which field is wrong."""

from collections.abc import Mapping
from typing import Any

from runs.intake.refusals import BadPayload


def text(payload: Mapping[str, Any], name: str, *, at: str = "", required: bool = False) -> str:
    """The text at ``name``; "" when it is missing or null, unless ``required``."""
    value = payload.get(name)
    if value is None:
        value = ""
    if not isinstance(value, str):
        raise BadPayload(at + name, f"must be text, not {kind(value)}")
    if required and not value.strip():
        raise BadPayload(at + name, "is required")
    return value


def mapping(payload: Mapping[str, Any], name: str, *, at: str = "") -> dict[str, Any]:
    """The object at ``name``; empty when it is missing or null."""
    value = payload.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadPayload(at + name, f"must be an object, not {kind(value)}")
    return value


def texts(payload: Mapping[str, Any], name: str, *, at: str = "") -> dict[str, str]:
    """An object whose values are text, as labels and annotations are; numbers and booleans are written out."""
    return {key: _label(value, f"{at}{name}.{key}") for key, value in mapping(payload, name, at=at).items()}


def objects(payload: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The list of objects at ``name``, which must hold at least one."""
    value = payload.get(name)
    if not isinstance(value, list):
        raise BadPayload(name, "is required" if value is None else f"must be a list, not {kind(value)}")
    if not value:
        raise BadPayload(name, "must hold at least one item")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise BadPayload(f"{name}.{index}", f"must be an object, not {kind(item)}")
    return value


def kind(value: Any) -> str:
    """What JSON calls the value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "an object"


def _label(value: Any, path: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise BadPayload(path, f"must be text, not {kind(value)}")
