"""What the service's own log leaves out."""

import logging


def without_trace_of_refusals(record: logging.LogRecord) -> bool:
    """A refused request (4xx) is one line: its traceback tells where the refusal is written, which helps nobody."""
    if getattr(record, "status_code", 500) < 500:
        record.exc_info = None
    return True
