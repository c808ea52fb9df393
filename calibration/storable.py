"""Making any text or JSON an agent produced fit to be stored, on SQLite and PostgreSQL alike.

PostgreSQL refuses U+0000, UTF-8 has no lone surrogates, JSON has no NaN, and Python neither writes
numbers of many thousand digits nor follows values nested a thousand levels deep. Each is replaced
by something a reader can see, so that nothing vanishes in silence and nothing crashes. It lives on
the lowest floor because every floor stores text of agents.
"""

import hashlib
import math
import re
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 100
TOO_DEEP = f"(not kept: nested deeper than {MAX_DEPTH} levels)"

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MAX_INT_BITS = 4096
# A bucket's six names stand in one index row, of which PostgreSQL takes 2,704 bytes.
NAME_BYTES = 200
_HASH_CHARS = 16


def storable_text(text: str) -> str:
    """``text`` with NUL and lone surrogates written as ``\\u0000``, ``\\ud800`` and so on."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def storable_name(name: str) -> str:
    """A name that an index can hold: one of more than NAME_BYTES bytes is cut and told apart by a hash of it all."""
    name = storable_text(name)
    written = name.encode()
    if len(written) <= NAME_BYTES:
        return name
    head = written[: NAME_BYTES - _HASH_CHARS - 4].decode(errors="ignore")
    return f"{head}…#{hashlib.sha256(written).hexdigest()[:_HASH_CHARS]}"


def storable(value: Any, *, text: Callable[[str], str] = storable_text, depth: int = 0) -> Any:
    """The same for JSON of any depth; ``text`` is what each text in it goes through.

    NaN, infinities and integers past 4096 bits become text; whatever lies deeper than MAX_DEPTH
    containers is replaced by TOO_DEEP.
    """
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        if depth == MAX_DEPTH:
            return TOO_DEEP
        return {text(str(key)): storable(item, text=text, depth=depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if depth == MAX_DEPTH:
            return TOO_DEEP
        return [storable(item, text=text, depth=depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and value.bit_length() > _MAX_INT_BITS:
        return hex(value)
    return value
