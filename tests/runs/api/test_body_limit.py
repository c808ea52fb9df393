import asyncio

import pytest

from runs.api.body_limit import DRAINED, BodyLimit

LIMIT = 10
CHUNKED = (b"transfer-encoding", b"chunked")


class Sender:
    """Plays the server's part: hands out chunks, keeps what is answered."""

    def __init__(self, *chunks: bytes, endless: bytes = b"", leaves: bool = False) -> None:
        self.chunks = list(chunks)
        self.endless = endless
        self.leaves = leaves
        self.taken = 0
        self.answers = []

    async def receive(self):
        if not self.chunks and self.leaves:
            return {"type": "http.disconnect"}
        chunk = self.chunks.pop(0) if self.chunks else self.endless
        self.taken += len(chunk)
        return {"type": "http.request", "body": chunk, "more_body": bool(self.chunks or self.endless or self.leaves)}

    async def send(self, message):
        self.answers.append(message)


async def application(scope, receive, send):
    """Reads as much as it was told to expect, as WSGI does, and answers with it."""
    expected = int(dict(scope["headers"]).get(b"content-length", 0))
    body = b""
    while len(body) < expected:
        body += (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": scope["headers"]})
    await send({"type": "http.response.body", "body": body})


def ask(sender: Sender, *headers):
    scope = {"type": "http", "path": "/webhook", "headers": list(headers)}
    asyncio.run(BodyLimit(application, limit_of=lambda path: LIMIT)(scope, sender.receive, sender.send))
    return (sender.answers[0]["status"], sender.answers[1]["body"]) if sender.answers else None


def test_declared_length_within_the_limit_passes():
    assert ask(Sender(b"12345", b"67890"), (b"content-length", b"10")) == (200, b"1234567890")


def test_declared_length_past_the_limit_is_413():
    status, body = ask(Sender(b"12345", b"678901"), (b"content-length", b"11"))
    assert status == 413
    assert b"10 bytes" in body


def test_chunks_within_the_limit_pass_with_their_length():
    sender = Sender(b"12345", b"67890")
    assert ask(sender, CHUNKED, (b"x-other", b"1")) == (200, b"1234567890")
    assert sender.answers[0]["headers"] == [(b"x-other", b"1"), (b"content-length", b"10")]


def test_chunks_past_the_limit_are_413():
    assert ask(Sender(b"12345", b"678901"), CHUNKED)[0] == 413


def test_no_body_passes():
    assert ask(Sender()) == (200, b"")


@pytest.mark.parametrize("header", [CHUNKED, (b"content-length", b"99999999999")])
def test_endless_body_is_left_after_a_while(header):
    sender = Sender(endless=b"1234")
    assert ask(sender, header)[0] == 413
    assert sender.taken <= (DRAINED + 1) * LIMIT


def test_sender_that_goes_away_too_early_gets_no_answer():
    assert ask(Sender(b"123", leaves=True), CHUNKED) is None


def test_sender_that_goes_away_while_drained():
    assert ask(Sender(b"1" * 20, leaves=True), CHUNKED)[0] == 413


def test_limit_depends_on_the_path(settings):
    from vectorstep.asgi import limit_of

    assert limit_of("/webhook") == settings.SERVICE.limits.payload_bytes
    assert limit_of("/ui/pipelines/x") > 3 * settings.SERVICE.limits.payload_bytes
