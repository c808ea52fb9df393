"""What every source is turned into before a run is made of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Incoming:
    """A payload in one shape, whoever sent it.

    ``context`` always has summary, severity, labels, metadata, event and source (text "" and empty
    objects when unknown); a source adds what else it knows. ``pipeline`` is the name the sender asked
    for ("" = whichever trigger matches), ``dedup_key`` what makes two payloads the same ("" = never).
    """

    context: dict[str, Any]
    payload: Mapping[str, Any]
    pipeline: str = ""
    dedup_key: str = ""

    @property
    def summary(self) -> str:
        return str(self.context["summary"])

    @property
    def source(self) -> str:
        return str(self.context["source"])
