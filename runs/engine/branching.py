"""Beginning a group: what a fan-out is over, and a waiting row for each branch.

The branches are written together, unrendered. Whoever claims one renders it (``branches.py``), so that a
fault in one branch's template is that branch's own.
"""

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs.engine import new_rows
from runs.models import Run, Step, StepStatus
from runs.pipelines import schema, templating
from runs.pipelines.operations import kind_of
from runs.pipelines.templating import TemplateError

SHOWN = 80  # characters of what ``over`` gave, in an error
_EMPTY = {"complete": StepStatus.COMPLETED, "skip": StepStatus.SKIPPED, "abort": StepStatus.ABORTED}


@dataclass(frozen=True)
class Begun:
    """The group's row, its branches' (none when it ended at once), and what the log is told of it."""

    group: Step
    branches: Sequence[Step]
    kind: str
    message: str


def begin(run: Run, entry: schema.Group, index: int, scope: Mapping[str, Any], now: datetime) -> Begun:
    """Whatever is wrong with ``when`` or ``over`` is the group's failure, in its row."""
    row = new_rows.group(run, entry, index, now)
    try:
        if entry.when is not None and not templating.evaluate(entry.when, scope):
            return _over(row, StepStatus.SKIPPED, f"{entry.when} is false", now)
        contexts = _contexts(entry, scope)
    except TemplateError as error:
        return _over(row, StepStatus.FAILED, str(error), now)
    if not contexts:
        assert isinstance(entry, schema.FanOut)  # a parallel group has a branch at least
        return _over(row, _EMPTY[entry.on_empty], "its list is empty", now)
    branches = [
        new_rows.branch(run, entry, index=index, place=place, context=extra, now=now)
        for place, extra in enumerate(contexts)
    ]
    row.awaited = len(branches)
    return Begun(row, branches, "step.started", f"{row.name} begins {len(branches)} branches.")


def _over(row: Step, status: StepStatus, why: str, now: datetime) -> Begun:
    bad = status in {StepStatus.FAILED, StepStatus.ABORTED}
    new_rows.end_at_once(row, status, why if bad else "", now)
    kind = "step.skipped" if status == StepStatus.SKIPPED else "step.failed" if bad else "step.decided"
    return Begun(row, [], kind, f"{row.name} {status}: {why}.")


def _contexts(entry: schema.Group, scope: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The further names of each branch. Raises TemplateError."""
    if isinstance(entry, schema.Parallel):
        return [{} for _ in entry.steps]
    items = _items(entry, scope)
    return [{entry.as_: item, "fan_out_index": place, "fan_out_total": len(items)} for place, item in enumerate(items)]


def _items(entry: schema.FanOut, scope: Mapping[str, Any]) -> list[Any]:
    try:
        value = templating.value_of(entry.over, scope)
    except TemplateError as error:
        raise TemplateError(f"over: {error}") from error
    items = _read(value) if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise TemplateError(f"over: needs a list, not {kind_of(items)}: {str(value)[:SHOWN]!r}")
    if len(items) > entry.max_items:
        raise TemplateError(f"over: gave {len(items)} items, and max_items is {entry.max_items}")
    return list(items)


def _read(text: str) -> Any:
    """A list as text: JSON, or as Python writes it. The text itself when it is neither."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return text
