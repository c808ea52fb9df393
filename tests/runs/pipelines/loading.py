"""Loading pipelines from text in tests."""

import copy
import json
from pathlib import Path
from typing import Any

from runs.pipelines.library import Library
from runs.pipelines.loader import Loaded, load_bytes

NO_LIBRARY = Library(Path("/nonexistent"))
BASE: dict[str, Any] = {
    "name": "p",
    "vars": {"limit": 3},
    "steps": [
        {"name": "first", "executor": "command", "executor_config": {"command": ["ls"]}},
        {"name": "second", "executor": "command", "executor_config": {"command": ["ls"]}},
    ],
}

# Where the second step stands, and parts of a step with as little in them as is valid.
STEP = "steps.1"
GATEWAY = {"agent": "judge"}
VERIFIER = {"executor": "gateway", "executor_config": GATEWAY}
SHELL = {"type": "shell", "name": "c", "run": "true"}
HOOK = {"type": "webhook", "name": "h", "url": "http://x"}


def load(text: str, library: Library = NO_LIBRARY) -> Loaded:
    return load_bytes(text.encode(), "p.yaml", library)


def with_field(path: str, value: Any) -> dict[str, Any]:
    """BASE with the value put at a dotted path; numbers are positions in lists."""
    data = copy.deepcopy(BASE)
    *parents, last = path.split(".")
    where: Any = data
    for part in parents:
        where = where[int(part)] if part.isdigit() else where.setdefault(part, {})
    where[last] = value
    return data


def load_with(path: str, value: Any) -> Loaded:
    """Load BASE with one more field. JSON is YAML, so nothing of the value is lost on the way."""
    return load(json.dumps(with_field(path, value), indent=1, ensure_ascii=False))


def load_with_step(step: dict[str, Any]) -> Loaded:
    """Load BASE with ``step`` in the place of its second one."""
    return load_with("steps", [*BASE["steps"][:1], step])


def messages(loaded: Loaded) -> list[str]:
    return [str(problem) for problem in loaded.problems]
