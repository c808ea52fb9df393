"""A TCP or TLS connection used from one blocking thread, with a total deadline and a Stop that interrupts it.

Shared by the gateway's WebSocket and by outgoing HTTP: both speak their protocol without I/O of
its own over a Wire, so a peer that sends one byte a minute cannot outlast the deadline.
"""

import contextlib
import os
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from ipaddress import ip_address
from typing import Generic, Protocol, TypeVar

from runs.calling import Deadline, Stop

CONNECT_SECONDS = 10.0
_CHUNK = 65_536
_IDLE_SECONDS = 60.0
_IDLE_KEPT = 128

_READ = select.POLLIN | select.POLLPRI
_WRITE = select.POLLOUT


class Guard:
    """The deadline and the stop of one piece of work, and whatever connection it is waiting on right now."""

    def __init__(self, deadline: Deadline, stop: Stop) -> None:
        self.deadline = deadline
        self._stop = stop
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._forget = stop.on_stop(self._interrupt)

    def __enter__(self) -> "Guard":
        return self

    def __exit__(self, *_: object) -> None:
        self._forget()
        self.release()

    def hold(self, connection: socket.socket) -> None:
        """From now on a stop shuts this connection down. Raises Stopped if it has come already."""
        with self._lock:
            self._socket = connection
        self.check()

    def release(self) -> None:
        """A stop that comes later leaves the connection alone: it may already serve another call."""
        with self._lock:
            self._socket = None

    def check(self) -> None:
        """Raises Stopped, or TimeoutError past the deadline."""
        self._stop.raise_if_set()
        if self.deadline.passed():
            raise TimeoutError

    def on_stop(self, callback: Callable[[], None]) -> Callable[[], None]:
        """As Stop.on_stop, for waits that are not on a connection."""
        return self._stop.on_stop(callback)

    def _interrupt(self) -> None:
        with self._lock:
            if self._socket is not None:
                with contextlib.suppress(OSError):  # already gone, which is what was wanted
                    self._socket.shutdown(socket.SHUT_RDWR)


class Wire:
    """An open connection. Every method takes the guard of the work it is used for.

    They raise Stopped, TimeoutError, or OSError where the connection broke.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._poll = select.poll()
        self._fd = connection.fileno()
        self._waits_for = 0
        self.last_used = time.monotonic()

    def send(self, data: bytes, guard: Guard) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._wait(_WRITE, guard)
            except ssl.SSLWantReadError:
                self._wait(_READ, guard)
            except OSError:
                guard.check()
                raise

    def receive(self, guard: Guard) -> bytes:
        """What has arrived, at least one byte; b"" at the end of the stream."""
        if not isinstance(self._socket, ssl.SSLSocket):
            self._wait(_READ, guard)  # the answer is hardly ever there already: save the vain attempt
        while True:
            try:
                data = self._socket.recv(_CHUNK)
            except (BlockingIOError, ssl.SSLWantReadError):
                self._wait(_READ, guard)
                continue
            except ssl.SSLWantWriteError:
                self._wait(_WRITE, guard)
                continue
            except ssl.SSLEOFError:
                data = b""
            except OSError:
                guard.check()
                raise
            # A stop looks like the end of the stream, and where a peer never pauses nothing here ever waits.
            guard.check()
            return data

    def shake_hands(self, guard: Guard) -> None:
        """TLS only. Raises ssl.SSLError where the peer cannot prove its name."""
        assert isinstance(self._socket, ssl.SSLSocket)
        while True:
            try:
                return self._socket.do_handshake()
            except ssl.SSLWantReadError:
                self._wait(_READ, guard)
            except ssl.SSLWantWriteError:
                self._wait(_WRITE, guard)
            except OSError:
                guard.check()
                raise

    def waiting(self) -> bytes | None:
        """What arrived while idle: None is nothing (the connection is alive), b"" is the end of the stream."""
        try:
            return self._socket.recv(_CHUNK)
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except OSError:
            return b""

    def hold(self, guard: Guard) -> None:
        guard.hold(self._socket)

    def close(self) -> None:
        self._socket.close()

    def _wait(self, what: int, guard: Guard) -> None:
        if self._waits_for != what:
            self._poll.register(self._fd, what)
            self._waits_for = what
        if not self._poll.poll(guard.deadline.left() * 1000):
            guard.check()
            raise TimeoutError


def connect(
    addresses: Iterable[tuple[str, int]], guard: Guard, *, tls_name: str = "", context: ssl.SSLContext | None = None
) -> tuple[Wire, str]:
    """A Wire to the first address that answers, and that address; with ``tls_name``, TLS that must prove that name.

    Raises Stopped, TimeoutError, or the OSError of the last address tried.
    """
    failure: OSError = OSError("no address to connect to")
    for host, port in addresses:
        try:
            return _connect(host, port, guard, tls_name, context), host
        except ssl.SSLError:
            raise
        except OSError as error:  # TimeoutError is one: the next address has what is left of the deadline
            guard.check()
            failure = error
    raise failure


def _connect(host: str, port: int, guard: Guard, tls_name: str, context: ssl.SSLContext | None) -> Wire:
    connection = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        connection.settimeout(min(CONNECT_SECONDS, max(guard.deadline.left(), 0.001)))
        guard.hold(connection)
        connection.connect((host, port))
        guard.check()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if not tls_name:
            return Wire(connection)
        connection = (context or ssl.create_default_context()).wrap_socket(
            connection, server_hostname=tls_name, do_handshake_on_connect=False
        )
        guard.hold(connection)
        wire = Wire(connection)
        wire.shake_hands(guard)
        return wire
    except BaseException:
        guard.release()
        connection.close()
        raise


def resolve(host: str, port: int, guard: Guard) -> list[str]:
    """The addresses of a name, as the resolver spells and orders them, within the deadline.

    Raises OSError for a name that has none, UnicodeError for one that is no name, Stopped, TimeoutError.
    """
    # An address in its plain spelling needs no look-up, and so no thread that can be left behind.
    with contextlib.suppress(ValueError):
        return [str(ip_address(host))]
    found: list[list[str] | Exception] = []
    done = threading.Event()

    def look_up() -> None:
        try:
            records = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.append([str(record[4][0]) for record in records])
        except (OSError, UnicodeError) as error:
            found.append(error)
        done.set()

    # The C library's look-up cannot be interrupted: one that hangs is left behind in its thread.
    threading.Thread(target=look_up, name="resolve", daemon=True).start()
    forget = guard.on_stop(done.set)
    try:
        done.wait(guard.deadline.left())
    finally:
        forget()
    if not found:
        guard.check()
        raise TimeoutError
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


class Closable(Protocol):
    last_used: float

    def close(self) -> None: ...


Kept = TypeVar("Kept", bound=Closable)


class IdlePool(Generic[Kept]):
    """Connections waiting for their next use, newest first; those past the cap, or idle for long, are closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[Hashable, deque[Kept]] = {}
        self._looked_through = time.monotonic()
        os.register_at_fork(after_in_child=self._after_fork)

    def take(self, key: Hashable) -> Kept | None:
        with self._lock:
            waiting = self._idle.get(key)
            return waiting.pop() if waiting else None

    def give(self, key: Hashable, connection: Kept) -> None:
        connection.last_used = time.monotonic()
        with self._lock:
            waiting = self._idle.setdefault(key, deque())
            waiting.append(connection)
            stale = [waiting.popleft()] if len(waiting) > _IDLE_KEPT else []
            if connection.last_used > self._looked_through + _IDLE_SECONDS:
                self._looked_through = connection.last_used
                stale += self._idle_since(connection.last_used - _IDLE_SECONDS)
        for old in stale:
            old.close()

    def _idle_since(self, time_of_use: float) -> list[Kept]:
        """Take out, of all keys, whatever has not been used since then."""
        stale: list[Kept] = []
        for key, waiting in list(self._idle.items()):
            while waiting and waiting[0].last_used < time_of_use:
                stale.append(waiting.popleft())
            if not waiting:
                del self._idle[key]
        return stale

    def close(self) -> None:
        with self._lock:
            everything = [connection for waiting in self._idle.values() for connection in waiting]
            self._idle.clear()
        for connection in everything:
            connection.close()

    def _after_fork(self) -> None:
        """A child shares its parent's sockets: it must neither use them nor say goodbye on them."""
        self._lock = threading.Lock()
        self._idle = {}
