"""How a try to send something ended."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """``error`` is "" of a message that was taken. ``wait`` is how many seconds the receiver asked for."""

    error: str = ""
    retryable: bool = False
    status_code: int | None = None
    response: str = ""
    wait: float = 0.0
