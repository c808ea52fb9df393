"""What a cell of the file says; nothing where that is impossible, since SQLite lets any value be in any column."""

import json
import math
from datetime import datetime
from decimal import Decimal
from typing import Any

from calibration.storable import storable_name
from runs.importing.records import MOST_DOLLARS
from runs.moments import utc
from runs.pricing import nanos_of

_MOST = 2**31 - 1


def text(cell: Any) -> str:
    if cell is None:
        return ""
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)


def name(cell: Any) -> str:
    """A text that a column with an index takes."""
    return storable_name(text(cell))


def parsed(cell: Any) -> Any:
    """The JSON in a cell; None for a cell without any, or with something else."""
    if not isinstance(cell, str | bytes):
        return None
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return None


def mapping(cell: Any) -> dict[str, Any]:
    """A JSON object, {} for anything else; ``cell`` may be parsed already."""
    found = cell if isinstance(cell, dict) else parsed(cell)
    return found if isinstance(found, dict) else {}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def spoken(cell: Any) -> str:
    """What an agent said, which is stored as JSON: a text as itself, anything else as JSON."""
    found = parsed(cell)
    return found if isinstance(found, str) else text(cell)


def share(value: Any) -> float | None:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if 0 <= value <= 1 else None


def count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST else None


def dollars(value: Any) -> Decimal | None:
    """An amount of money, as it is written: 0.1 is a tenth, whatever a computer makes of it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    amount = Decimal(repr(value))
    return amount if nanos_of(amount) is not None and amount <= MOST_DOLLARS else None


def moment(cell: Any) -> datetime | None:
    """A time; without a zone it is UTC."""
    try:
        return utc(datetime.fromisoformat(text(cell).strip()))
    except ValueError:
        return None
