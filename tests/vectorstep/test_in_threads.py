"""What a WSGI application answers arrives as it is, and its thread is free as soon as it can be."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from vectorstep.in_threads import PART, InThreads

SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/a é",
    "query_string": b"x=1",
    "http_version": "1.1",
    "headers": [(b"content-type", b"text/plain"), (b"x-one", b"1")],
    "server": ("127.0.0.1", 80),
    "client": ("127.0.0.1", 9),
}


def ask(application: Any, *bodies: bytes, gone: bool = False, send: Any = None) -> list[dict[str, Any]]:
    """What the application sends for a request whose body comes in these pieces."""
    sent: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": True} for body in bodies]
    messages.append({"type": "http.disconnect"} if gone else {"type": "http.request", "body": b""})

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def keep(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(InThreads(application, threads=1)(dict(SCOPE), receive, send or keep))
    return sent


def test_the_request_arrives_and_the_answer_goes_back_whole():
    def echo(environ, start_response):
        body = environ["wsgi.input"].read()
        start_response("202 Accepted", [("Content-Type", "text/plain"), ("X-Two", "2")])
        seen = [environ[name] for name in ("REQUEST_METHOD", "QUERY_STRING", "HTTP_X_ONE", "CONTENT_TYPE")]
        return [body, b"|", " ".join(seen).encode()]

    assert ask(echo, b"ab", b"c") == [
        {
            "type": "http.response.start",
            "status": 202,
            "headers": [(b"content-type", b"text/plain"), (b"x-two", b"2")],
        },
        {"type": "http.response.body", "body": b"abc|POST x=1 1 text/plain"},
    ]


def test_a_sender_that_leaves_before_the_end_of_its_body_is_not_served():
    assert ask(lambda environ, start: pytest.fail("called"), b"half", gone=True) == []


class Chunks:
    """An answer of several chunks that notes the threads it was made and closed in."""

    def __init__(self, *sizes: int, fail: bool = False) -> None:
        self.sizes, self.fail, self.threads = sizes, fail, set[int]()
        self.closed = False

    def __call__(self, environ: Any, start_response: Any) -> "Chunks":
        start_response("200 OK", [])
        return self

    def __iter__(self) -> Iterator[bytes]:
        for size in self.sizes:
            self.threads.add(threading.get_ident())
            yield b"x" * size
        if self.fail:
            raise ZeroDivisionError

    def close(self) -> None:
        self.threads.add(threading.get_ident())
        self.closed = True


def test_an_answer_made_bit_by_bit_is_sent_while_it_is_made():
    answer = Chunks(PART, 1, PART, 2)
    sent = ask(answer)
    assert [len(one.get("body", b"")) for one in sent] == [0, PART, PART + 1, 2]
    assert [one.get("more_body", False) for one in sent[1:]] == [True, True, False]
    assert answer.closed
    assert len(answer.threads) == 1


def test_a_large_answer_in_one_piece_frees_its_thread_before_it_is_sent():
    answer = Chunks(5 * PART)
    free = []

    async def slow_reader(message: Any) -> None:
        free.append(answer.closed)

    ask(answer, send=slow_reader)
    assert free == [True, True]


def test_a_reader_that_leaves_ends_the_answer():
    answer = Chunks(PART, PART, PART, PART)

    async def gone(message: Any) -> None:
        raise OSError("the reader has gone")

    ask(answer, send=gone)
    assert answer.closed


def test_an_answer_that_breaks_is_closed_and_its_error_reaches_the_server():
    answer = Chunks(1, fail=True)
    with pytest.raises(ZeroDivisionError):
        ask(answer)
    assert answer.closed


def test_only_http_is_served():
    application = InThreads(Chunks(1), threads=1)
    with pytest.raises(ValueError, match="not websocket"):
        asyncio.run(application({"type": "websocket"}, None, None))  # type: ignore[arg-type]
