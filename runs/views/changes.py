"""What a revision changes, as its readers see it: each field before and after."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs.views.step_config import value_text

FIELDS = 100
CHARS = 3_000


@dataclass(frozen=True)
class Change:
    """``before`` and ``after`` are beginnings of the values as text; None on a side that has no such field."""

    name: str
    before: str | None
    after: str | None
    cut: bool


def shown(changes: Mapping[str, Any]) -> list[Change]:
    """The first of the fields; from ``{field: [before, after]}``."""
    return [_change(name, before, after) for name, (before, after) in list(changes.items())[:FIELDS]]


def _change(name: str, before: Any, after: Any) -> Change:
    texts = [None if value is None else value_text(value) for value in (before, after)]
    heads = [None if text is None else text[:CHARS] for text in texts]
    return Change(name, heads[0], heads[1], cut=texts != heads)
