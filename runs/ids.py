"""Identifiers that sort by the time they were made (UUID version 7, RFC 9562 section 5.7)."""

import hashlib
import os
import threading
import time
import uuid
from datetime import datetime

# A run's id is made after its payload was resolved, well within this of the time it was triggered.
MADE_WITHIN_MS = 60_000
_lock = threading.Lock()
_last = 0


def new_id() -> uuid.UUID:
    """48 bits of milliseconds, then random bits; each higher than the one before in this process.

    New rows land side by side in the index, and two of the same millisecond keep their order.
    """
    global _last  # noqa: PLW0603  (one order for the whole process)
    milliseconds = time.time_ns() // 1_000_000
    value = _version_7(milliseconds, os.urandom(10))
    with _lock:
        _last = value = max(value, _last + 1)
    return uuid.UUID(int=value)


def derived_id(moment: datetime, *names: str) -> uuid.UUID:
    """The id of something that happened at ``moment`` elsewhere: the same names always give the same id."""
    digest = hashlib.sha256("\x1f".join(names).encode("utf-8", "surrogatepass")).digest()
    return uuid.UUID(int=_version_7(_milliseconds(moment), digest[:10]))


def first_at(moment: datetime) -> uuid.UUID:
    """The lowest id that can have been made at ``moment``: it bounds a walk through rows in the order of their ids."""
    return uuid.UUID(int=_milliseconds(moment) << 80)


def last_of(moment: datetime) -> uuid.UUID:
    """An id above that of every run triggered by ``moment``, whose id was made moments after: the other bound."""
    return uuid.UUID(int=(_milliseconds(moment) + MADE_WITHIN_MS) << 80)


def _version_7(milliseconds: int, ten_bytes: bytes) -> int:
    value = (milliseconds << 80) | int.from_bytes(ten_bytes, "big")
    value = value & ~(0xF << 76) | (0x7 << 76)
    return value & ~(0x3 << 62) | (0x2 << 62)


def _milliseconds(moment: datetime) -> int:
    return max(0, int(moment.timestamp() * 1000))
