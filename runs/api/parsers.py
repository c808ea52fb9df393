"""Request bodies as JSON objects, never more bytes than ``limits.payload_bytes``."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest
from django.http.request import UnreadablePostError
from rest_framework.exceptions import APIException
from rest_framework.parsers import BaseParser

from runs.intake import body
from runs.intake.refusals import BadPayload


class TooLarge(APIException):
    # Here, and not with the API's other errors: REST framework imports the parsers while it is imported itself.
    status_code = 413


class ObjectParser(BaseParser):
    """A JSON object; everything ``body.parse`` refuses is a 400."""

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
    limit = settings.SERVICE.limits.payload_bytes
    if int(request.META.get("CONTENT_LENGTH") or 0) > limit:
        raise _too_large(limit)
    raw = bounded(request)
    if not raw.strip() and empty:
        return {}
    return body.parse(raw)


def bounded(stream: Any) -> bytes:
    """All of the stream; TooLarge as soon as it exceeds the limit."""
    limit = settings.SERVICE.limits.payload_bytes
    try:
        raw: bytes = stream.read(limit + 1)
    except UnreadablePostError as error:
        raise BadPayload("", "The body ended before all of it had come.") from error
    if len(raw) > limit:
        raise _too_large(limit)
    return raw


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than {limit} bytes (limits.payload_bytes).")
