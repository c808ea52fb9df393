"""HTTP requests that pipelines make: to checked addresses only, bounded in time and size, stopped on request.

The name is resolved once, each address is checked (``runs.addresses``), and the connection goes to
exactly the address that was checked: a name that resolves to something else a moment later
(rebinding) gains nothing. Redirects are not followed, and no proxy is used.
"""

import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

import h11
from django.conf import settings

from runs import wire
from runs.addresses import refusal
from runs.calling import Deadline, ExecutorError, Stop
from runs.wire import Guard, IdlePool, Wire

_OURS = {"connection", "content-length", "transfer-encoding", "keep-alive", "upgrade", "te", "trailer", "expect"}
_FORBIDDEN_IN_URL = frozenset(map(chr, range(0x21))) | {"\x7f"}


class OutboundError(ExecutorError):
    """The request was refused, or failed on the way. HTTP errors (4xx, 5xx) are answers, not errors."""


@dataclass(frozen=True)
class Response:
    """``headers`` has lower-case names; several of one name are joined by commas."""

    status_code: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Message:
    place: str
    head: h11.Request
    body: bytes
    max_bytes: int  # of the answer's body

    def written(self, http: h11.Connection) -> bytes:
        parts = [http.send(self.head)]
        if self.body:
            parts.append(http.send(h11.Data(data=self.body)))
        parts.append(http.send(h11.EndOfMessage()))
        return b"".join(part for part in parts if part)


class _Open:
    """A kept connection and its HTTP state."""

    def __init__(self, connection: Wire) -> None:
        self.wire = connection
        self.http = h11.Connection(h11.CLIENT)
        self.last_used = time.monotonic()

    def close(self) -> None:
        self.wire.close()


_Key = tuple[str, str, int, str]  # scheme, host, port, address
_pool: IdlePool[_Open] = IdlePool()


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, Any] | None = None,
    content: str | bytes = b"",
    deadline: Deadline,
    stop: Stop,
    max_bytes: int,
    trusted: bool = False,
) -> Response:
    """Make one request. ``trusted`` skips the address check: only for urls from the service's own configuration.

    Raises OutboundError (a url that is refused, no connection, no complete answer before the
    deadline, an answer of more than ``max_bytes``), or Stopped.
    """
    target = _split(url)
    body = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    message = _Message(_place(target), _head(method, target, headers or {}, len(body)), body, max_bytes)
    try:
        with Guard(deadline, stop) as guard:
            connection, key = _connection(target, guard, trusted)
            return _exchange(key, connection, message, guard)
    except TimeoutError as error:
        raise OutboundError(f"{_place(target)} gave no complete answer within {deadline.seconds:g} s") from error
    except ssl.SSLCertVerificationError as error:
        raise OutboundError(f"{_place(target)}: {error.verify_message or error}", retryable=False) from error
    except (h11.RemoteProtocolError, ssl.SSLError) as error:
        raise OutboundError(f"{_place(target)}: {error}") from error
    except OSError as error:
        raise OutboundError(f"{_place(target)}: {error.strerror or error}") from error


def _split(url: str) -> SplitResult:
    """Raises OutboundError for everything but a plain http or https url."""
    try:
        target = urlsplit(url)
        port_is_valid = target.port is None or target.port > 0
    except ValueError as error:
        raise OutboundError(f"not a url: {error}", retryable=False) from error
    if target.scheme not in ("http", "https") or not target.hostname:
        raise OutboundError(f"expected an http or https url, got {url[:200]!r}", retryable=False)
    if _FORBIDDEN_IN_URL.intersection(url) or "\\" in url:
        raise OutboundError("a url must not contain blanks, line breaks or backslashes", retryable=False)
    if target.username is not None or target.password is not None:
        raise OutboundError("a url must not contain a user or password; use an Authorization header", retryable=False)
    if not port_is_valid:
        raise OutboundError("a url must not name port 0", retryable=False)
    return target


def _place(target: SplitResult) -> str:
    """The url without path and query, which may hold secrets."""
    return f"{target.scheme}://{target.netloc}"


def _head(method: str, target: SplitResult, headers: Mapping[str, Any], length: int) -> h11.Request:
    path = (target.path or "/") + (f"?{target.query}" if target.query else "")
    lines = {"host": _host(target), "accept": "*/*", "accept-encoding": "identity", "user-agent": "VectorStep"}
    lines.update({name.strip().lower(): str(value) for name, value in headers.items()})
    kept = [(name, value) for name, value in lines.items() if name not in _OURS]
    if length or method.upper() in ("POST", "PUT", "PATCH"):
        kept.append(("content-length", str(length)))
    try:
        encoded = [(name.encode("ascii"), value.encode("utf-8")) for name, value in kept]
        return h11.Request(method=method.upper().encode("ascii"), target=_quoted(path), headers=encoded)
    except (h11.LocalProtocolError, UnicodeError) as error:
        raise OutboundError(f"the request cannot be written: {error}", retryable=False) from error


def _host(target: SplitResult) -> str:
    """The Host header. Raises OutboundError for a name that cannot be one."""
    host = target.hostname or ""
    try:
        written = f"[{host}]" if ":" in host else host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise OutboundError(f"{host!r} is not a host name: {error}", retryable=False) from error
    return written if target.port is None else f"{written}:{target.port}"


def _quoted(path: str) -> bytes:
    """Non-ASCII letters percent-encoded, everything else as the author wrote it."""
    return b"".join(
        character.encode() if character.isascii() else b"".join(b"%%%02X" % byte for byte in character.encode())
        for character in path
    )


def _exchange(key: _Key, connection: _Open, message: _Message, guard: Guard) -> Response:
    """Send the request and read the answer; afterwards the connection is kept, or closed where it is not clean."""
    reusable = False
    try:
        connection.wire.hold(guard)
        connection.wire.send(message.written(connection.http), guard)
        response = _receive(connection, message, guard)
        reusable = connection.http.our_state is h11.DONE and connection.http.their_state is h11.DONE
        return response
    finally:
        guard.release()
        if reusable:
            connection.http.start_next_cycle()
            _pool.give(key, connection)
        else:
            connection.close()


def _connection(target: SplitResult, guard: Guard, trusted: bool) -> tuple[_Open, _Key]:
    """A connection to the first permitted address: a kept one that is alive, else a new one."""
    host = target.hostname or ""
    port = target.port or (443 if target.scheme == "https" else 80)
    addresses = _permitted(host, port, guard, trusted)
    for address in addresses:
        while (kept := _pool.take((target.scheme, host, port, address))) is not None:
            if kept.wire.waiting() is None:
                return kept, (target.scheme, host, port, address)
            kept.close()
    tls_name = host if target.scheme == "https" else ""
    opened, address = wire.connect([(address, port) for address in addresses], guard, tls_name=tls_name)
    return _Open(opened), (target.scheme, host, port, address)


def _permitted(host: str, port: int, guard: Guard, trusted: bool) -> list[str]:
    """The addresses of the name that may be reached. Raises OutboundError when none may."""
    try:
        addresses = wire.resolve(host, port, guard)
    except UnicodeError as error:
        raise OutboundError(f"{host!r} is not a host name", retryable=False) from error
    except TimeoutError:
        raise
    except OSError as error:
        raise OutboundError(f"cannot find the address of {host!r}: {error.strerror or error}") from error
    if trusted:
        return addresses
    refusals = {address: refusal(address, settings.SERVICE.outbound.allow_private) for address in addresses}
    permitted = [address for address in addresses if not refusals[address]]
    if not permitted:
        raise OutboundError(
            f"{host!r} may not be reached: {next(iter(refusals.values()), 'it has no address')}", retryable=False
        )
    return permitted


def _receive(connection: _Open, message: _Message, guard: Guard) -> Response:
    head: h11.Response | None = None
    body = bytearray()
    while True:
        event = _next_event(connection, guard)
        if isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > message.max_bytes:
                raise OutboundError(f"{message.place} answered with more than {message.max_bytes} bytes")
        elif isinstance(event, h11.EndOfMessage):
            assert head is not None
            headers = _headers(head)
            return Response(head.status_code, _decoded(bytes(body), headers), headers)
        elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
            raise OutboundError(f"{message.place} closed the connection before it answered")


def _next_event(connection: _Open, guard: Guard) -> Any:
    while (event := connection.http.next_event()) is h11.NEED_DATA:
        connection.http.receive_data(connection.wire.receive(guard))
    return event


def _headers(head: h11.Response) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in head.headers:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _decoded(body: bytes, headers: Mapping[str, str]) -> str:
    _, _, charset = headers.get("content-type", "").lower().partition("charset=")
    try:
        return body.decode(charset.split(";")[0].strip("\"' ") or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")
