"""One WebSocket to the Gateway: opening it, sending a request, receiving messages. Knows nothing of agents."""

import json
import time
from typing import Any

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import CLOSE, CONT, TEXT, Frame
from websockets.http11 import Response
from websockets.protocol import OPEN
from websockets.uri import WebSocketURI, parse_uri

from runs import wire
from runs.wire import Guard, Wire

_encode = json.JSONEncoder(separators=(",", ":")).encode


class ProtocolError(Exception):
    """The peer does not speak the protocol, or closed the connection; the message says how."""


class Closed(ProtocolError):
    """The peer closed the connection."""


class Connection:
    """An open WebSocket. Used by one thread at a time."""

    def __init__(self, connection: Wire, protocol: ClientProtocol, max_bytes: int) -> None:
        self._wire = connection
        self._protocol = protocol
        self._max_bytes = max_bytes
        self._frames: list[Frame] = []
        self._unframed = 0  # bytes received that no frame told so far has accounted for
        self._next_id = 0
        self.message_bytes = 0  # the size of the message received last
        self.last_used = time.monotonic()

    @classmethod
    def open(cls, url: str, guard: Guard, *, max_bytes: int) -> "Connection":
        """Connect and shake hands.

        Raises ProtocolError, ValueError or InvalidURI for a url that is none, and what Wire raises.
        """
        uri = parse_uri(url)
        protocol = ClientProtocol(uri, max_size=max_bytes)
        connection = cls(_connect(uri, guard), protocol, max_bytes)
        try:
            protocol.send_request(protocol.connect())
            connection._flush(guard)
            connection._await_handshake(guard)
        except BaseException:
            connection.close()
            raise
        return connection

    def hold(self, guard: Guard) -> None:
        """From now on a stop of this guard closes the connection."""
        self._wire.hold(guard)

    def is_usable(self) -> bool:
        """Whether the peer is still there and has said nothing since the last call: sorting out what it said is dearer
        than a new connection."""
        said = self._frames or self._unframed  # half a frame would swallow the answer of the next call
        return self._wire.waiting() is None and self._protocol.state is OPEN and not said

    def new_id(self) -> str:
        self._next_id += 1
        return str(self._next_id)

    def send(self, message: dict[str, Any], guard: Guard) -> None:
        self._protocol.send_text(_encode(message).encode())
        self._flush(guard)

    def receive(self, guard: Guard) -> dict[str, Any]:
        """The next message. Raises ProtocolError for anything but a JSON object, and where the peer closes."""
        text = self._receive_text(guard)
        self.message_bytes = len(text)
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ProtocolError(f"sent a message that is not JSON: {_beginning(text)}") from error
        if not isinstance(message, dict):
            raise ProtocolError(f"sent JSON that is not an object: {_beginning(text)}")
        return message

    def close(self) -> None:
        self._wire.close()

    def _receive_text(self, guard: Guard) -> bytes:
        parts: list[bytes] = []
        while True:
            frame = self._next_frame(guard)
            if frame.opcode is CLOSE:
                raise Closed(f"closed the connection {self._closing()}")
            if frame.opcode is not TEXT and frame.opcode is not CONT:
                continue  # a ping is answered by the protocol; nothing else matters here
            if frame.fin and not parts:
                return bytes(frame.data)
            if frame.data:
                parts.append(bytes(frame.data))
            if frame.fin:
                return b"".join(parts)

    def _next_frame(self, guard: Guard) -> Frame:
        while not self._frames:
            if self._protocol.parser_exc is not None:
                raise ProtocolError(self._violation()) from self._protocol.parser_exc
            data = self._wire.receive(guard)
            if not data:
                raise Closed("closed the connection in the middle of the call")
            self._protocol.receive_data(data)
            self._flush(guard)  # a pong, or the answer to a close
            self._frames = self._protocol.events_received()[::-1]  # type: ignore[assignment]
            self._unframed += len(data) - sum(map(_size, self._frames))
        return self._frames.pop()

    def _await_handshake(self, guard: Guard) -> None:
        received = b""
        while True:
            data = self._wire.receive(guard)
            received += data
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            events = self._protocol.events_received()
            if self._protocol.handshake_exc is not None:
                raise ProtocolError(_refusal(self._protocol.handshake_exc)) from self._protocol.handshake_exc
            if events:
                assert isinstance(events[0], Response)
                self._frames = events[:0:-1]  # type: ignore[assignment]
                _, _, after_head = received.partition(b"\r\n\r\n")
                self._unframed = len(after_head) - sum(map(_size, self._frames))
                return
            if not data:
                raise Closed("closed the connection before it became a WebSocket")

    def _flush(self, guard: Guard) -> None:
        for data in self._protocol.data_to_send():
            if data:  # b"" asks for a half-close; the connection is closed as a whole soon enough
                self._wire.send(data, guard)

    def _closing(self) -> str:
        close = self._protocol.close_rcvd
        return f"(code {close.code}{': ' + close.reason if close.reason else ''})" if close else "without a reason"

    def _violation(self) -> str:
        sent = self._protocol.close_sent
        if sent is not None and sent.code == 1009:
            return f"sent a message larger than {self._max_bytes} bytes (limits.answer_bytes)"
        return f"broke the WebSocket protocol ({self._protocol.parser_exc})"


def _size(frame: Frame) -> int:
    """The bytes a frame takes on the wire, from a server, which does not mask, and written as short as can be."""
    length = len(frame.data)
    return length + (2 if length < 126 else 4 if length < 65_536 else 10)


def _connect(uri: WebSocketURI, guard: Guard) -> Wire:
    addresses = [(address, uri.port) for address in wire.resolve(uri.host, uri.port, guard)]
    connection, _ = wire.connect(addresses, guard, tls_name=uri.host if uri.secure else "")
    return connection


def _refusal(error: Exception) -> str:
    if isinstance(error, InvalidStatus):
        return f"answered the WebSocket handshake with HTTP {error.response.status_code}"
    return f"did not answer the WebSocket handshake: {error}"


def _beginning(text: bytes) -> str:
    shown = text[:120].decode("utf-8", "backslashreplace")
    return repr(shown) + ("…" if len(text) > 120 else "")
