"""Marks as lines of CSV or JSON: how each is written, and how a file of them is read.

A spreadsheet runs what begins like a formula, so such a cell gets an apostrophe in front, which
reading takes away again. Reading never holds more than one line, of a bounded length.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Literal

Form = Literal["csv", "jsonl"]
FORMS: tuple[Form, ...] = ("csv", "jsonl")
COLUMNS = (
    "run_id",
    "pipeline",
    "step_id",
    "step_name",
    "marker",
    "outcome",
    "note",
    "made_at",
    "is_current",
    "undone_at",
    "was_blind",
    "via",
    "offered_by",
)
LINE_CHARS = 100_000
_ESCAPED = re.compile("'*[=+\\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")
_SHIELDED = re.compile("'+[=+\\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")


class BadFile(ValueError):
    """The file as a whole cannot be read; the message says why, with the line."""


@dataclass(frozen=True)
class Line:
    """One mark of a file, as text or JSON values by column; ``problem`` when it cannot be understood at all."""

    number: int
    values: Mapping[str, Any]
    problem: str = ""


def shielded(cell: str) -> str:
    """``cell`` as no spreadsheet takes it for a formula."""
    return f"'{cell}" if _ESCAPED.match(cell) else cell


def unshielded(cell: str) -> str:
    """What ``shielded`` was given."""
    return cell[1:] if _SHIELDED.match(cell) else cell


def written(rows: Iterable[Mapping[str, Any]], form: Form) -> Iterator[str]:
    """The file's lines, one for each of ``rows``, after the head that CSV has. None is an empty cell, or null."""
    if form == "jsonl":
        yield from (f"{json.dumps({name: row[name] for name in COLUMNS}, ensure_ascii=False)}\n" for row in rows)
        return
    yield _csv_line(COLUMNS)
    yield from (_csv_line([shielded(_cell(row[name])) for name in COLUMNS]) for row in rows)


def read(file: IO[bytes], form: Form) -> Iterator[Line]:
    """Every line with a mark on it. Raises BadFile for a file that is no text, or has no head that could be used."""
    lines = _decoded(file)
    return _read_csv(lines) if form == "csv" else _read_jsonl(lines)


def form_of(name: str) -> Form:
    """The form that a file's name tells. Raises BadFile for any other."""
    ending = name.rpartition(".")[2].lower()
    for form in FORMS:
        if ending == form:
            return form
    raise BadFile(f"{name[:200]}: expected a name that ends in .csv or .jsonl")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _csv_line(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue()


def _decoded(file: IO[bytes]) -> Iterator[str]:
    number = 0
    while raw := file.readline(LINE_CHARS + 1):
        number += 1
        if len(raw) > LINE_CHARS:
            raise BadFile(f"line {number}: longer than {LINE_CHARS:,} bytes")
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise BadFile(f"line {number}: not UTF-8 (byte {error.start + 1} of the line)") from None
        if "\x00" in text:
            raise BadFile(f"line {number}: holds a NUL, so this is no text")
        yield text


def _read_csv(lines: Iterator[str]) -> Iterator[Line]:
    cells = csv.reader(lines, strict=True)
    head = [name.strip() for name in _row(cells) or []]
    _check_names(head)
    while True:
        number = cells.line_num + 1
        row = _row(cells)
        if row is None:
            return
        if not row:
            continue
        if len(row) != len(head):
            yield Line(number, {}, f"has {len(row)} cells, its head has {len(head)}")
        else:
            yield Line(number, {name: unshielded(cell) for name, cell in zip(head, row, strict=True)})


def _row(cells: Any) -> list[str] | None:
    """The next row; None at the end."""
    try:
        row: list[str] | None = next(cells, None)
    except csv.Error as error:
        raise BadFile(f"line {cells.line_num}: not CSV: {error}") from None
    return row


def _check_names(head: list[str]) -> None:
    if "outcome" not in head:
        raise BadFile(f"line 1: expected the names of the columns, outcome among them; known: {', '.join(COLUMNS)}")
    if problem := _unknown(head):
        raise BadFile(f"line 1: {problem}")
    if len(set(head)) < len(head):
        raise BadFile("line 1: a column is named twice")


def _unknown(names: Iterable[str]) -> str:
    strange = next((name for name in names if name not in COLUMNS), None)
    return "" if strange is None else f"there is no column {strange[:50]!r}; known: {', '.join(COLUMNS)}"


def _read_jsonl(lines: Iterator[str]) -> Iterator[Line]:
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            yield Line(number, {}, f"not JSON: {str(error)[:200]}")
            continue
        if not isinstance(values, dict):
            yield Line(number, {}, "expected a JSON object")
        else:
            yield Line(number, values, _unknown(values))
