"""Draws that are random and yet always the same for one step, so that they can be made again. Pure."""

from hashlib import blake2b
from uuid import UUID

PLACES = 1 << 31


def place(step_id: UUID) -> int:
    """Where a step stands in the random order: below 2³¹, the lowest first. An undone mark puts it back there."""
    return _draw(step_id, b"place") % PLACES


def wants_second_opinion(step_id: UUID, share: float) -> bool:
    """Whether the step is among the ``share`` (0 to 1) of steps that two people should mark.

    Independent of ``place``: else the steps that the random order offers first would be the ones marked twice.
    """
    return _draw(step_id, b"second") < share * 2**64


def _draw(step_id: UUID, purpose: bytes) -> int:
    return int.from_bytes(blake2b(step_id.bytes, digest_size=8, person=purpose).digest(), "big")
