"""Refusing a body that is too large before Django has put it anywhere.

Django's ASGI handler reads a whole body into a temporary file before a view is called, whatever its
size. A body of declared length is judged by that, and the server holds the sender to it; one sent in
chunks is read here, up to the limit, and passed on with its length (which WSGI cannot do without).
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from runs.intake.refusals import TooLarge

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

# Read and thrown away past the limit, so that a sender that writes first and reads later sees the answer.
DRAINED = 8  # times the limit


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
        headers = dict(scope["headers"])
        if _length(headers) > limit:
            await _refuse(receive, send, limit, seen=0)
        elif b"transfer-encoding" in headers:
            await self._chunked(scope, receive, send, limit)
        else:
            await self.application(scope, receive, send)

    async def _chunked(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # the sender has gone, nobody waits for an answer
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > limit:
                await _refuse(receive, send, limit, seen=len(body), more=more)
                return
        await self.application(_with_length(scope, len(body)), _replay(bytes(body), receive), send)


def _length(headers: dict[bytes, bytes]) -> int:
    """The Content-Length; 0 when there is none, or none that is a number."""
    given = headers.get(b"content-length", b"")
    return int(given) if given.isdigit() and len(given) < 20 else 0


def _with_length(scope: Scope, length: int) -> Scope:
    replaced = (b"transfer-encoding", b"content-length")
    kept = [(name, value) for name, value in scope["headers"] if name not in replaced]
    return {**scope, "headers": [*kept, (b"content-length", str(length).encode())]}


def _replay(body: bytes, receive: Receive) -> Receive:
    """Hands out the body that was read, then whatever comes after it (the end of the connection)."""
    waiting = [body]

    async def next_message() -> Any:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return next_message


async def _refuse(receive: Receive, send: Send, limit: int, *, seen: int, more: bool = True) -> None:
    while more and seen <= DRAINED * limit:
        message = await receive()
        seen += len(message.get("body", b""))
        more = message["type"] == "http.request" and message.get("more_body", False)
    body = json.dumps({"error": str(TooLarge(limit))}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
