"""Why a payload starts nothing."""

from collections.abc import Sequence

from calibration.plurals import plural


class Refused(Exception):
    """A payload was not accepted; the message is a sentence for whoever sent it."""


class BadPayload(Refused):
    """The payload cannot be used. ``field`` is the dotted path of what is wrong ("" = all of it)."""

    def __init__(self, field: str, message: str, *, allowed: Sequence[str] = ()) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.allowed = list(allowed)


class TooLarge(Refused):
    """The payload has more than ``limit`` bytes (``limits.payload_bytes``)."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The payload is larger than {plural(limit, 'byte')} (limits.payload_bytes).")


class UnknownPipeline(Refused):
    """Nothing is called that, or no trigger matches; ``close`` holds the nearest names."""

    def __init__(self, message: str, close: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.close = list(close)


class BacklogFull(Refused):
    """As many runs wait as ``limits.backlog`` allows; try again after ``retry_after`` seconds."""

    def __init__(self, limit: int, *, retry_after: int) -> None:
        super().__init__(
            f"{plural(limit, 'run is', 'runs are')} waiting already; try again in {plural(retry_after, 'second')}."
        )
        self.retry_after = retry_after
