"""A small HTTP server in a thread whose answers are raw bytes, so that a test can make it misbehave."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Answer = bytes | Callable[[socket.socket], None]


@dataclass
class FakeHttp:
    """Each request gets the next of ``answers``, the last one again and again; a function writes its own."""

    answers: list[Answer]
    context: ssl.SSLContext | None = None
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    _server: socket.socket = field(init=False)
    _peers: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def running(self) -> Iterator["FakeHttp"]:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threads = [threading.Thread(target=self._accept, name="fake-http")]
        threads[0].start()
        try:
            yield self
        finally:
            self._server.shutdown(socket.SHUT_RDWR)
            self._server.close()
            for peer in self._peers:
                with contextlib.suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
            threads[0].join()

    def _accept(self) -> None:
        peers = []
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._server.accept()
                self.connections += 1
                self._peers.append(peer)
                peers.append(threading.Thread(target=self._serve, args=(peer,), name="fake-http-peer"))
                peers[-1].start()
        for thread in peers:
            thread.join()

    def _serve(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self.context:
                peer = self.context.wrap_socket(peer, server_side=True)
                self._peers.append(peer)
            with peer:
                while request := _request(peer):
                    self.requests.append(request)
                    answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                    if callable(answer):
                        answer(peer)
                        return
                    peer.sendall(answer)
        peer.close()


def _request(peer: socket.socket) -> bytes:
    """Head and body of the next request; b"" at the end of the stream."""
    received = b""
    while b"\r\n\r\n" not in received:
        data = peer.recv(65_536)
        if not data:
            return b""
        received += data
    head, _, body = received.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += peer.recv(65_536)
    return head + b"\r\n\r\n" + body


def response(body: bytes = b"fine", *, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{headers}\r\n".encode() + body
