"""What agents say, fit to be stored: see ``calibration.storable``, and without the server's secrets."""

from typing import Any

from calibration import storable as plain
from calibration.storable import MAX_DEPTH, TOO_DEEP
from runs.redaction import redact

__all__ = ["MAX_DEPTH", "TOO_DEEP", "storable", "storable_text"]


def storable_text(text: str) -> str:
    """``text`` with what no database takes escaped, and each secret of the server hidden."""
    return redact(plain.storable_text(text))


def storable(value: Any) -> Any:
    """The same for JSON of any depth."""
    return plain.storable(value, text=storable_text)
