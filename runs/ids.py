"""Identifiers that sort by the time they were made (UUID version 7, RFC 9562 section 5.7)."""

import os
import time
import uuid
from datetime import datetime


def new_id() -> uuid.UUID:
    """48 bits of milliseconds, then random bits: new rows land side by side in the index."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return uuid.UUID(int=value)


def first_at(moment: datetime) -> uuid.UUID:
    """The lowest id that can have been made at ``moment``: it bounds a walk through rows in the order of their ids."""
    return uuid.UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)
