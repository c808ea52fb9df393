"""Reading a file of runs, one JSON object a line."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import IO

from pydantic import ValidationError

from calibration.storable import storable
from runs.importing import records
from runs.importing.shown import problem_of

LINE_BYTES = 50_000_000


@dataclass(frozen=True)
class Problem:
    """A line that was left out, and why."""

    line: int
    reason: str


def read(file: IO[bytes], *, now: datetime) -> Iterator[records.Run | Problem]:
    """Each line's run, or what is wrong with it; also that it tells of times after ``now``.

    Never holds more than one line, of at most LINE_BYTES.
    """
    number = 0
    while raw := file.readline(LINE_BYTES + 1):
        number += 1
        if len(raw) > LINE_BYTES:
            yield Problem(number, f"longer than {LINE_BYTES:,} bytes")
            _skip_line(file, raw)
        elif raw.strip():
            yield _run(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw, number, now)


def _skip_line(file: IO[bytes], raw: bytes) -> None:
    while raw and not raw.endswith(b"\n"):
        raw = file.readline(LINE_BYTES)


def _run(raw: bytes, number: int, now: datetime) -> records.Run | Problem:
    try:
        # Made storable first: what Python writes (lone surrogates, NaN) and pydantic refuses to read comes in as text.
        told = json.dumps(storable(json.loads(raw.decode())))
    except UnicodeDecodeError as error:
        return Problem(number, f"not UTF-8 (byte {error.start + 1} of the line)")
    except (ValueError, RecursionError) as error:
        return Problem(number, f"not JSON: {str(error)[:200]}")
    try:
        return records.Run.model_validate_json(told, context={"now": now})
    except ValidationError as error:
        return Problem(number, problem_of(error))
