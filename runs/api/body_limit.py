"""Refusing a body that is too large while it arrives, before Django has put it anywhere.

Django's ASGI handler reads a whole body into a temporary file before a view is called, whatever its
size; a sender that gives no Content-Length would fill the disk.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Read and thrown away past the limit, so that a sender that writes first and reads later sees the answer.
DRAINED = 8  # times the limit


class _TooLarge(Exception):
    pass


class BodyLimit:
    """An ASGI application around another: 413 for more than ``limit_of(path)`` bytes."""

    def __init__(self, application: Application, *, limit_of: Callable[[str], int]) -> None:
        self.application = application
        self.limit_of = limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        limit = self.limit_of(scope["path"])
        bounded = _Bounded(receive, limit)
        try:
            if _declared(scope) > limit:
                raise _TooLarge
            await self.application(scope, bounded.receive, send)
        except _TooLarge:
            await bounded.drain()
            await _refuse(send, limit)


class _Bounded:
    """Counts what arrives; raises _TooLarge past the limit."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._seen = 0
        self._more = True

    async def receive(self) -> Message:
        message = await self._next()
        if self._seen > self._limit:
            raise _TooLarge
        return message

    async def drain(self) -> None:
        while self._more and self._seen <= DRAINED * self._limit:
            await self._next()

    async def _next(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        self._more = message["type"] == "http.request" and message.get("more_body", False)
        return message


def _declared(scope: Scope) -> int:
    """The Content-Length; 0 when there is none, or none that is a number."""
    given = dict(scope["headers"]).get(b"content-length", b"")
    return int(given) if given.isdigit() and len(given) < 20 else 0


async def _refuse(send: Send, limit: int) -> None:
    body = json.dumps({"error": f"The body is larger than {limit} bytes (limits.payload_bytes)."}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
