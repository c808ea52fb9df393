import asyncio

import pytest

from runs.api.body_limit import DRAINED, BodyLimit

LIMIT = 10


class Sender:
    """Plays the server's part: hands out chunks, keeps what is answered."""

    def __init__(self, *chunks: bytes, endless: bytes = b"") -> None:
        self.chunks = list(chunks)
        self.endless = endless
        self.taken = 0
        self.answers = []

    async def receive(self):
        chunk = self.chunks.pop(0) if self.chunks else self.endless
        self.taken += len(chunk)
        return {"type": "http.request", "body": chunk, "more_body": bool(self.chunks or self.endless)}

    async def send(self, message):
        self.answers.append(message)


async def application(scope, receive, send):
    """Reads the whole body, as Django does, and answers with it."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message["body"]
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def ask(sender: Sender, *, headers=(), kind="http"):
    scope = {"type": kind, "path": "/webhook", "headers": list(headers)}
    asyncio.run(BodyLimit(application, limit_of=lambda path: LIMIT)(scope, sender.receive, sender.send))
    return sender.answers[0]["status"], sender.answers[1]["body"]


def test_body_at_the_limit_passes():
    assert ask(Sender(b"12345", b"67890")) == (200, b"1234567890")


@pytest.mark.parametrize("headers", [[], [(b"content-length", b"11")], [(b"content-length", b"x")]])
def test_body_past_the_limit_is_413(headers):
    status, body = ask(Sender(b"12345", b"678901"), headers=headers)
    assert status == 413
    assert b"10 bytes" in body


def test_endless_body_is_left_after_a_while():
    sender = Sender(endless=b"1234")
    assert ask(sender)[0] == 413
    assert sender.taken <= (DRAINED + 1) * LIMIT


def test_sender_that_goes_away_ends_it():
    class Leaving(Sender):
        async def receive(self):
            if self.chunks:
                return await super().receive() | {"more_body": True}
            return {"type": "http.disconnect"}

    assert ask(Leaving(b"1" * 20))[0] == 413


def test_limit_depends_on_the_path(settings):
    from vectorstep.asgi import limit_of

    assert limit_of("/webhook") == settings.SERVICE.limits.payload_bytes
    assert limit_of("/ui/pipelines/x") > 3 * settings.SERVICE.limits.payload_bytes
