"""The parts of the language that are checked but cannot run yet.

A pipeline that uses one is refused at load with "not supported yet: <field>". Supporting a part means
deleting its line here.
"""

from collections.abc import Iterator
from typing import Any

NOT_YET_TOP: dict[str, str] = {
    "readiness": "readiness",
}
NOT_YET_STEP: dict[str, str] = {
    "readiness": "readiness",
}
NOT_YET_VALUES: dict[str, frozenset[str]] = {
    "executor": frozenset({"a2a", "agent"}),
    "verifier.executor": frozenset({"a2a", "agent"}),
    "grounding.executor": frozenset({"a2a", "agent"}),
}

Location = tuple[str | int, ...]


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _in_step(step: dict[str, Any], where: Location) -> Iterator[tuple[Location, str]]:
    for path, label in NOT_YET_STEP.items():
        if _at(step, path) is not None:
            yield (*where, *path.split(".")), label
    for path, values in NOT_YET_VALUES.items():
        value = _at(step, path)
        if isinstance(value, str) and value in values:
            yield (*where, *path.split(".")), f"{path}: {value}"


def unsupported(config: dict[str, Any]) -> Iterator[tuple[Location, str]]:
    """Each use of something not supported yet in a config that passed the schema: where, and what."""
    for path, label in NOT_YET_TOP.items():
        if _at(config, path) is not None:
            yield tuple(path.split(".")), label
    for position, entry in enumerate(config["steps"]):
        where: Location = ("steps", position)
        if "fan_out" in entry:
            yield from _in_step(entry["fan_out"], (*where, "fan_out"))
        elif "parallel" in entry:
            yield from _in_step(entry["parallel"], (*where, "parallel"))
            for place, branch in enumerate(entry["parallel"]["steps"]):
                yield from _in_step(branch, (*where, "parallel", "steps", place))
        else:
            yield from _in_step(entry, where)
