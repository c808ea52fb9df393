"""A WSGI application under an ASGI server: one hand-over to a thread, and one back with the whole answer.

Where processors are busy each hand-over between threads waits for its turn, so their number decides
how long a short request takes.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from typing import Any

from a2wsgi.wsgi import build_environ

Scope = MutableMapping[str, Any]
Message = dict[str, Any]
Send = Callable[[Any], Coroutine[Any, Any, None]]

PART = 256 * 1024
"""Bytes: an answer made bit by bit is sent in parts of about this size, while it is made."""


class InThreads:
    """An ASGI application around a WSGI one; at most ``threads`` requests are worked on at once."""

    def __init__(self, application: Callable[..., Iterable[bytes]], *, threads: int) -> None:
        self._application = application
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="request")

    async def __call__(self, scope: Scope, receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"only HTTP is served here, not {scope['type']}")
        body = await _whole_body(receive)
        if body is None:
            return
        environ: Any = build_environ(scope, BytesIO(body))  # type: ignore[arg-type]
        loop = asyncio.get_running_loop()
        answer = _Answer(lambda message: asyncio.run_coroutine_threadsafe(send(message), loop).result())
        # A sender that has gone meanwhile needs no answer.
        with contextlib.suppress(OSError):
            for message in await loop.run_in_executor(self._threads, partial(answer.make, self._application, environ)):
                await send(message)


class _Answer:
    """The answer of one request, made in one thread from beginning to end (so are its database connections)."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._start: list[Message] = []

    def make(self, application: Callable[..., Iterable[bytes]], environ: Any) -> list[Message]:
        """What is left to be sent at the end: all of it, unless the answer came in many chunks."""
        chunks = application(environ, self._started)
        waiting = bytearray()
        try:
            for chunk in chunks:
                # Looked at before the new chunk: an answer in one piece, however large, never holds its thread.
                if len(waiting) >= PART:
                    self._send_part(bytes(waiting))
                    waiting.clear()
                waiting += chunk
        finally:
            getattr(chunks, "close", lambda: None)()
        return [*self._start, {"type": "http.response.body", "body": bytes(waiting)}]

    def _send_part(self, body: bytes) -> None:
        for message in self._start:
            self._send(message)
        self._start = []
        self._send({"type": "http.response.body", "body": body, "more_body": True})

    def _started(self, status: str, headers: list[tuple[str, str]], _error: object = None) -> None:
        coded = [(name.lower().encode("latin1"), value.encode("latin1")) for name, value in headers]
        self._start = [{"type": "http.response.start", "status": int(status[:3]), "headers": coded}]


async def _whole_body(receive: Callable[[], Awaitable[Any]]) -> bytes | None:
    """The request's body (``BodyLimit`` bounds it); None when the sender went before its end."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)
