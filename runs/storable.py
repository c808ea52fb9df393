"""What agents say, fit to be stored: see ``calibration.storable``, and without the server's secrets."""

from typing import Any

from calibration import storable as plain
from calibration.storable import MAX_DEPTH, TOO_DEEP
from runs.redaction import redact

__all__ = [
    "MAX_DEPTH",
    "TOO_DEEP",
    "storable",
    "storable_count",
    "storable_name",
    "storable_reason",
    "storable_text",
]

REASON_CHARS = 2_000

_MOST = 2**31 - 1  # what an integer column holds


def storable_text(text: str) -> str:
    """``text`` with what no database takes escaped, and each secret of the server hidden."""
    return redact(plain.storable_text(text))


def storable_reason(text: str) -> str:
    """A reason or a line of the log: what an agent or a gateway wrote into one shall not make every list heavy.

    The whole of what was said is in the answer, the trace or the raw text beside it.
    """
    text = storable_text(text)  # before the cut, which could leave half a secret
    return text if len(text) <= REASON_CHARS else f"{text[:REASON_CHARS]}…"


def storable_name(name: str) -> str:
    """A name for an indexed column: cut where an index could not hold it."""
    return plain.storable_name(redact(name))


def storable_count(count: int | None) -> int | None:
    """A count as reported; None, "not reported", for one that no column can hold and nobody can have counted."""
    return count if count is not None and 0 <= count <= _MOST else None


def storable(value: Any) -> Any:
    """The same for JSON of any depth."""
    return plain.storable(value, text=storable_text)
