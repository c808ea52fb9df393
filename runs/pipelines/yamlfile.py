"""Reading YAML into JSON values, with the line of every key and value.

The parser's events are read one by one, without recursion, so that depth, size and what aliases expand
to are counted before anything is built. Scalars follow YAML 1.2's core schema: ``no`` and ``12:30`` are
texts, ``1e3`` is a number.
"""

import errno
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

MAX_BYTES = 1_000_000
MAX_DEPTH = 60
MAX_NODES = 100_000
MAX_INT = 2**63

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?[0-9]{1,25}|0o[0-7]{1,25}|0x[0-9a-fA-F]{1,25}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NAN = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_CONSTANTS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_TAGS = {"tag:yaml.org,2002:str": "str", "!": "str"}
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class YamlProblem(Exception):
    """The text cannot be read; ``line`` counts from 1."""

    def __init__(self, line: int, message: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.path = path


@dataclass
class Mark:
    """Where a value stands: ``text_line`` is the line its text begins on (a block starts below its ``|``)."""

    line: int
    key_line: int = 0
    text_line: int = 0
    children: dict[str | int, "Mark"] = field(default_factory=dict)

    def find(self, path: tuple[str | int, ...]) -> "Mark":
        """The mark of ``path``, or of the innermost part of it that is in the file."""
        mark = self
        for part in path:
            if part not in mark.children:
                break
            mark = mark.children[part]
        return mark


@dataclass
class _Open:
    """A list or an object that has begun and not ended."""

    value: Any
    mark: Mark
    size: int = 1
    anchor: str | None = None
    key: str | None = None
    key_line: int = 0
    merged: set[str] = field(default_factory=set)


def read(path: Path) -> bytes:
    """The file's bytes, one past MAX_BYTES at most: enough to know that it is too long.

    Raises OSError, also for a pipe or a device, which might keep its reader waiting for ever.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is no regular file")
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def decode(raw: bytes) -> str:
    """The file's text. Raises YamlProblem for anything but clean UTF-8 of a sensible size."""
    if len(raw) > MAX_BYTES:
        raise YamlProblem(0, f"the file is {len(raw)} bytes long; at most {MAX_BYTES}")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise YamlProblem(1, "the file is UTF-16; save it as UTF-8")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise YamlProblem(line, f"byte {error.start} is not UTF-8 (0x{raw[error.start]:02x}); save as UTF-8") from None
    text = text.removeprefix("\ufeff")
    if "\x00" in text:
        raise YamlProblem(text.count("\n", 0, text.index("\x00")) + 1, "the file holds a NUL byte")
    return text


def parse(text: str) -> tuple[Any, Mark]:
    """The one document in ``text`` as JSON values, and where they stand. Raises YamlProblem."""
    try:
        return _Builder().build(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        last = text.rstrip("\n").count("\n") + 1  # what is missing at the end is missed after it
        raise YamlProblem(min(mark.line + 1, last) if mark else 0, _syntax(text, error, mark)) from None
    except yaml.YAMLError as error:
        raise YamlProblem(_line_of_character(text, error), f"not valid YAML: {error}".splitlines()[0]) from None


def _line_of_character(text: str, error: yaml.YAMLError) -> int:
    position = getattr(error, "position", None)
    return text.count("\n", 0, position) + 1 if isinstance(position, int) else 0


def _syntax(text: str, error: yaml.MarkedYAMLError, mark: Any) -> str:
    lines = text.split("\n")
    if mark is not None and mark.line < len(lines) and re.match(r"[ ]*\t", lines[mark.line]):
        return "a tab is used for indentation; YAML takes blanks only"
    return "not valid YAML: " + " ".join(part for part in (error.context, error.problem) if part)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 0


class _Builder:
    def __init__(self) -> None:
        self.stack: list[_Open] = []
        self.anchors: dict[str, tuple[Any, Mark, int]] = {}
        self.nodes = 0
        self.result: tuple[Any, Mark] | None = None

    def build(self, text: str) -> tuple[Any, Mark]:
        documents = 0
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise YamlProblem(_line(event), "a second document begins (---); one per file")
            else:
                self._take(event)
        return self.result if self.result is not None else (None, Mark(1))

    def _take(self, event: yaml.Event) -> None:
        line = _line(event)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event, line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open(event, line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            done = self.stack.pop()
            self._place(done.value, done.mark, done.size, done.anchor)

    def _path(self) -> tuple[str | int, ...]:
        path: list[str | int] = []
        for container in self.stack:
            if isinstance(container.value, list):
                path.append(len(container.value))
            elif container.key is not None:
                path.append(container.key)
        return tuple(path)

    def _fail(self, line: int, message: str) -> YamlProblem:
        return YamlProblem(line, message, self._path())

    def _count(self, size: int, line: int) -> None:
        self.nodes += size
        if self.nodes > MAX_NODES:
            raise self._fail(line, f"more than {MAX_NODES} values (aliases counted as often as they are used)")

    def _open(self, event: Any, line: int) -> None:
        if event.tag not in (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            raise self._fail(line, f"the tag {event.tag} is not allowed")
        if len(self.stack) >= MAX_DEPTH:
            raise self._fail(line, f"nested more than {MAX_DEPTH} deep")
        if self.stack and self._awaits_key():
            raise self._fail(line, "a key must be a text")
        self._count(1, line)
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.stack.append(_Open(value, Mark(line), anchor=event.anchor))

    def _awaits_key(self) -> bool:
        return isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        if event.tag is not None and event.tag not in _TAGS:
            raise self._fail(line, f"the tag {event.tag} is not allowed")
        plain = event.style in (None, "") and event.tag is None
        if _UNSTORABLE.search(event.value):
            raise self._fail(line, "the text holds a NUL or half a surrogate pair")
        if self.stack and self._awaits_key():
            self._key(event, line, plain)
            return
        self._count(1, line)
        block = event.style in ("|", ">")
        mark = Mark(line, text_line=line + 1 if block else line)
        self._place(self._plain(event.value, line) if plain else event.value, mark, 1, event.anchor)

    def _key(self, event: yaml.ScalarEvent, line: int, plain: bool) -> None:
        container = self.stack[-1]
        key = event.value
        if plain and not isinstance(self._plain(key, line), str):
            raise self._fail(line, f"the key {key!r} is not a text; put it in quotes")
        if key in container.value and key not in container.merged:
            first = container.mark.children[key].key_line
            raise YamlProblem(line, f"the key {key!r} appears twice (first on line {first})", (*self._path(), key))
        container.key, container.key_line = key, line

    def _plain(self, text: str, line: int) -> Any:
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _INT.fullmatch(text):
            number = int(text, 0) if text[:2] in ("0o", "0x") else int(text)
            if abs(number) >= MAX_INT:
                raise self._fail(line, f"the number {text} is too large; put it in quotes if it is an id")
            return number
        if _FLOAT.fullmatch(text):
            value = float(text)
            if not math.isfinite(value):
                raise self._fail(line, f"the number {text} is too large")
            return value
        if _NAN.fullmatch(text):
            raise self._fail(line, f"{text} is not a number that can be used here")
        return text

    def _alias(self, event: yaml.AliasEvent, line: int) -> None:
        if event.anchor not in self.anchors:
            raise self._fail(line, f"the alias *{event.anchor} has no anchor before it")
        if self.stack and self._awaits_key():
            raise self._fail(line, "an alias cannot be a key")
        value, mark, size = self.anchors[event.anchor]
        self._count(size, line)
        self._place(value, Mark(mark.line, text_line=mark.text_line, children=mark.children), size, None)

    def _place(self, value: Any, mark: Mark, size: int, anchor: str | None) -> None:
        """Put a finished value into the container that is open, or make it the result."""
        if anchor is not None:
            self.anchors[anchor] = (value, mark, size)
        if not self.stack:
            self.result = (value, mark)
            return
        container = self.stack[-1]
        container.size += size
        if isinstance(container.value, list):
            container.mark.children[len(container.value)] = mark
            container.value.append(value)
            return
        assert container.key is not None  # the parser gives a key before each value
        key, container.key = container.key, None
        mark.key_line = container.key_line
        if key == "<<":
            self._merge(container, value, mark)
            return
        container.merged.discard(key)
        container.value[key] = value
        container.mark.children[key] = mark

    def _merge(self, container: _Open, value: Any, mark: Mark) -> None:
        """``<<: *anchor``: the keys of the anchor that the object does not set itself."""
        sources = value if isinstance(value, list) else [value]
        marks = [mark.children.get(index, mark) for index in range(len(sources))] if value is sources else [mark]
        for source, where in zip(sources, marks, strict=True):
            if not isinstance(source, dict):
                raise self._fail(mark.line, "<< takes an alias of an object")
            for key in source.keys() - container.value.keys():
                container.value[key] = source[key]
                container.mark.children[key] = where.children[key]
                container.merged.add(key)
