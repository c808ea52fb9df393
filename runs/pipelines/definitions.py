"""What a step of a run is defined by: the entry of the pipeline at its place, or one branch of it."""

from collections.abc import Mapping
from typing import Any

from runs.pipelines import schema

GROUPS = ("parallel", "fan_out")
"""What stands as the executor of a group's own row."""


def kind_of(group: schema.Group) -> str:
    return "parallel" if isinstance(group, schema.Parallel) else "fan_out"


def group_seconds(entry: schema.Step | schema.Group) -> float | None:
    """How long a group may take as a whole; the ``timeout_seconds`` of a fan-out is each branch's own."""
    return entry.timeout_seconds if isinstance(entry, schema.Parallel) else None


def written(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of a stored version as pages show them; a group says its kind where a step says its executor."""
    entries = [entry for entry in config.get("steps", []) if isinstance(entry, dict)]
    return [_written(entry) for entry in entries]


def _written(entry: dict[str, Any]) -> dict[str, Any]:
    for kind in GROUPS:
        if isinstance(entry.get(kind), dict):
            return {**entry[kind], "executor": kind}
    return entry


def written_branch(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a stored version defines the branch ``name`` by, as pages show it; {} when it defines no such branch. A
    branch of a fan-out is held to no threshold of its own.
    """
    group, _, own = name.partition("/")
    for entry in config.get("steps", []):
        for kind in GROUPS if isinstance(entry, dict) else ():
            body = entry.get(kind)
            if not isinstance(body, dict) or body.get("name") != group:
                continue
            if kind == "fan_out":
                return {**body, "name": name, "confidence_threshold": None}
            branches = [one for one in body.get("steps", []) if isinstance(one, dict) and one.get("name") == own]
            return {"confidence_threshold": None, **branches[0]} if branches else {}
    return {}


def definition_of(pipeline: schema.Pipeline, *, index: int, branch: int | None) -> schema.StepBody:
    """The definition of a step, or of one branch of a group; every branch of a fan-out has the fan-out's own."""
    entry = pipeline.entries[index]
    if isinstance(entry, schema.Parallel):
        assert branch is not None  # the group's own row is joined, never called
        return entry.steps[branch]
    return entry


def group_of(name: str) -> str:
    """The group that a branch's name begins with."""
    return name.partition("/")[0]


def tracked_name(name: str, definition: schema.StepBody) -> str:
    """The name a step's track record is kept under: branches of a fan-out share their group's."""
    return definition.name if isinstance(definition, schema.FanOut) else name


def own_threshold(definition: schema.StepBody) -> float | None:
    """What the step itself is held to; None for a branch that leaves it to its group."""
    return None if isinstance(definition, schema.FanOut) else definition.confidence_threshold


def needs_confidence(pipeline: schema.Pipeline, *, index: int, definition: schema.StepBody) -> bool:
    """Whether an answer without a confidence breaks the contract: somebody compares it with a threshold above 0."""
    own = own_threshold(definition)
    return (pipeline.entries[index].confidence_threshold if own is None else own) > 0


def goes_on_after_failure(entry: schema.Step | schema.Group) -> bool:
    return isinstance(entry, schema.StepBody) and entry.on_failure.policy == "continue"


def notifications_of(pipeline: schema.Pipeline, event: str) -> list[schema.Notification]:
    """What is sent, by whichever channels, when ``event`` (escalate, abort, stop or notify) happens."""
    return getattr(pipeline.notifications, event) if pipeline.notifications else []
