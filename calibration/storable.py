"""Making any text or JSON an agent produced fit to be stored, on SQLite and PostgreSQL alike.

PostgreSQL refuses U+0000, UTF-8 has no lone surrogates, and JSON has no NaN. Each is replaced by
its visible escape, so that a reader sees what was there. It lives on the lowest floor because every
floor stores text of agents.
"""

import math
import re
from typing import Any

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable_text(text: str) -> str:
    """``text`` with NUL and lone surrogates written as ``\\u0000``, ``\\ud800`` and so on."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def storable(value: Any) -> Any:
    """The same for JSON of any depth; NaN and infinities become text."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {storable_text(str(key)): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    return value
