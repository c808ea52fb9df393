"""What one rendering may use: time, characters, depth. Everything a template does is charged here.

Rendering runs in the caller's thread and cannot be interrupted from outside, so each loop pass, call,
filter and operation charges its cost; the clock is read once every few thousand units.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jinja2.runtime import LoopContext, Macro, Undefined
from jinja2.utils import Namespace

from runs.pipelines.shell_words import ShellText

UNITS_PER_LOOK = 2_000
UNITS_PER_CHARACTER = 1 / 500
MAX_CALL_DEPTH = 40
MAX_ITEMS = 100_000
MAX_NODES = 500_000
MAX_INTEGER_BITS = 4_096


class TemplateError(Exception):
    """A template or expression that cannot be used; the message says why, in words for its writer."""


class Budget:
    """``shell`` is set while a shell command is rendered: it quotes each value for where it stands."""

    __slots__ = ("_deadline", "_depth", "_seconds", "_units", "chars", "max_chars", "shell", "warnings")

    def __init__(self, *, seconds: float, max_chars: int, shell: ShellText | None = None) -> None:
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._units: float = UNITS_PER_LOOK
        self._depth = 0
        self.chars = 0
        self.max_chars = max_chars
        self.shell = shell
        self.warnings: dict[str, None] = {}

    def charge(self, units: float = 1) -> None:
        self._units -= units
        if self._units <= 0:
            self._units = UNITS_PER_LOOK
            if time.monotonic() > self._deadline:
                raise TemplateError(f"took longer than {self._seconds:g} seconds and was stopped")

    def wrote(self, count: int) -> None:
        self.chars += count
        self.charge(1 + count * UNITS_PER_CHARACTER)
        if self.chars > self.max_chars:
            raise TemplateError(f"wrote more than {self.max_chars} characters and was stopped")

    def made(self, count: int) -> None:
        """A text of ``count`` characters is about to be made by an operation."""
        if count > self.max_chars:
            raise TemplateError(f"would make a text of more than {self.max_chars} characters and was stopped")
        self.charge(1 + count * UNITS_PER_CHARACTER)

    @contextmanager
    def nested(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > MAX_CALL_DEPTH:
            raise TemplateError(f"calls itself more than {MAX_CALL_DEPTH} deep and was stopped")
        try:
            self.charge()
            yield
        finally:
            self._depth -= 1


_local = threading.local()


def current() -> Budget:
    budget: Budget = _local.budget
    return budget


@contextmanager
def spending(budget: Budget) -> Iterator[Budget]:
    before = getattr(_local, "budget", None)
    _local.budget = budget
    try:
        yield budget
    finally:
        _local.budget = before


def measured(value: Any) -> Any:
    """``value`` again, once its full size (shared parts counted each time) is known to be bearable.

    Without this, ``[a, a]`` in a loop makes a small object whose text, or comparison, never ends.
    """
    if not isinstance(value, dict | list | tuple):
        return value
    budget = current()
    nodes, chars = 0, 0
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        nodes += 1
        if isinstance(item, dict):
            pending.extend(item.values())
            chars += sum(len(key) for key in item if isinstance(key, str))
        elif isinstance(item, list | tuple):
            pending.extend(item)
        elif isinstance(item, str):
            chars += len(item)
        elif isinstance(item, Undefined):
            item.used_by("list")
        elif isinstance(item, Macro | LoopContext | Namespace):
            raise TemplateError("a macro, loop or namespace cannot be put into a list")
        if nodes % 1_000 == 0:
            budget.charge(500)
            if len(pending) + nodes > MAX_NODES:
                raise TemplateError(f"built a value of more than {MAX_NODES} parts and was stopped")
    budget.made(chars)
    budget.charge(nodes / 4)
    return value


def text_of(value: Any) -> str:
    """The text of a value as ``{{ }}`` writes it."""
    if type(value) is str:
        return value
    if isinstance(value, Undefined):
        return str(value)
    if isinstance(value, Macro | LoopContext | Namespace) or callable(value):
        raise TemplateError(f"a {type(value).__name__.lower()} has no text")
    return str(measured(value))
