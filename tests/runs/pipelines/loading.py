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


def messages(loaded: Loaded) -> list[str]:
    return [str(problem) for problem in loaded.problems]
