import os
import socket
import threading

import pytest

from runs import wire
from runs.calling import Deadline, Stop, Stopped
from runs.wire import Guard, IdlePool, Wire

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def guard(stop=None, seconds=5.0):
    return Guard(Deadline(seconds), stop or Stop())


def test_a_stop_interrupts_a_wait(pair):
    stop = Stop()
    connection = Wire(pair[0])
    with guard(stop) as current:
        connection.hold(current)
        threading.Timer(0.05, stop.set).start()
        with pytest.raises(Stopped):
            connection.receive(current)


def test_a_stop_interrupts_a_write_that_nobody_reads(pair):
    stop = Stop()
    connection = Wire(pair[0])
    with guard(stop) as current:
        connection.hold(current)
        threading.Timer(0.05, stop.set).start()
        with pytest.raises(Stopped):
            connection.send(b"x" * 10_000_000, current)


def test_a_write_that_nobody_reads_ends_at_the_deadline(pair):
    with guard(seconds=0.1) as current, pytest.raises(TimeoutError):
        Wire(pair[0]).send(b"x" * 10_000_000, current)


def test_a_stop_leaves_a_released_connection_alone(pair):
    """It may already serve another call."""
    stop = Stop()
    connection = Wire(pair[0])
    with guard(stop) as current:
        connection.hold(current)
        current.release()
        stop.set()
    pair[1].sendall(b"for the next call")
    with guard() as following:
        assert connection.receive(following) == b"for the next call"


def test_what_a_connection_held_while_idle(pair):
    connection = Wire(pair[0])
    assert connection.waiting() is None
    pair[1].sendall(b"x")
    assert connection.waiting() == b"x"
    pair[1].close()
    assert connection.waiting() == b""


@pytest.fixture
def deaf():
    """The address of a server whose queue is full: connecting to it hangs."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield server.getsockname()
        for client in waiting:
            client.close()


def test_connecting_is_interrupted_too(deaf):
    stop = Stop()
    threading.Timer(0.05, stop.set).start()
    with guard(stop) as current, pytest.raises(Stopped):
        wire.connect([deaf], current)
    with guard(seconds=0.1) as current, pytest.raises(TimeoutError):
        wire.connect([deaf], current)


def test_the_next_address_is_tried():
    with socket.create_server(("127.0.0.1", 0)) as server, guard() as current:
        address = server.getsockname()
        connection, host = wire.connect([("127.0.0.1", 1), address], current)
        assert host == "127.0.0.1"
        server.accept()[0].close()
        assert connection.receive(current) == b""
        connection.close()


class Thing:
    def __init__(self):
        self.last_used = 0.0
        self.closed = False

    def close(self):
        self.closed = True


def test_the_pool_gives_the_newest_and_closes_the_rest_past_its_cap(monkeypatch):
    monkeypatch.setattr(wire, "_IDLE_KEPT", 2)
    pool, things = IdlePool(), [Thing() for _ in range(3)]
    for thing in things:
        pool.give("key", thing)
    assert [thing.closed for thing in things] == [True, False, False]
    assert pool.take("other") is None
    assert [pool.take("key"), pool.take("key"), pool.take("key")] == [things[2], things[1], None]


def test_the_pool_closes_what_was_idle_for_long(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(wire.time, "monotonic", lambda: now[0])
    pool, old, other, new = IdlePool(), Thing(), Thing(), Thing()
    pool.give("key", old)
    now[0] += 40
    pool.give("other", other)
    now[0] += 40
    pool.give("third", new)
    assert [old.closed, other.closed, new.closed] == [True, False, False]
    assert pool.take("key") is None
    assert pool.take("other") is other


def test_a_child_does_not_use_its_parents_connections():
    pool, thing = IdlePool(), Thing()
    pool.give("key", thing)
    child = os.fork()
    if child == 0:
        os._exit(0 if pool.take("key") is None else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert pool.take("key") is thing
