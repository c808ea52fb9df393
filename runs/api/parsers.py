"""Request bodies as JSON objects, never more bytes than ``limits.payload_bytes``."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest
from django.http.request import UnreadablePostError
from rest_framework.parsers import BaseParser

from runs.intake import body
from runs.intake.refusals import BadPayload


class ObjectParser(BaseParser):
    """A JSON object; everything ``body.parse`` refuses is a 400 or a 413."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        return body.parse(bounded(stream))


def read_object(request: HttpRequest, *, empty: bool = False) -> dict[str, Any]:
    """The request's JSON object, whatever its Content-Type says; {} for no body where ``empty`` is allowed."""
    body.check_size(int(request.META.get("CONTENT_LENGTH") or 0))
    raw = bounded(request)
    if not raw.strip() and empty:
        return {}
    return body.parse(raw)


def bounded(stream: Any) -> bytes:
    """All of the stream; raises TooLarge as soon as it exceeds the limit."""
    try:
        raw: bytes = stream.read(settings.SERVICE.limits.payload_bytes + 1)
    except UnreadablePostError as error:
        raise BadPayload("", "The body ended before all of it had come.") from error
    body.check_size(len(raw))
    return raw
