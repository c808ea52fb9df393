"""One reader per kind of sender: payload in, Incoming out, BadPayload for anything it cannot use."""

from collections.abc import Callable, Mapping
from typing import Any

from runs.intake.incoming import Incoming
from runs.intake.refusals import BadPayload
from runs.intake.sources import alertmanager, generic, grafana

READERS: dict[str, Callable[[Mapping[str, Any]], Incoming]] = {
    "generic": generic.read,
    "alertmanager": alertmanager.read,
    "grafana": grafana.read,
}


def read(source: str, payload: Mapping[str, Any]) -> Incoming:
    """The payload as ``source`` means it."""
    reader = READERS.get(source)
    if reader is None:
        raise BadPayload("source", f"unknown source {source[:100]!r}", allowed=list(READERS))
    return reader(payload)
