"""Connections to the gateway that are kept for the next call, and those that must not be."""

import threading
from contextlib import contextmanager

import pytest

from tests.fakes.gateway import ANSWER, FakeGateway, Script, running
from tests.runs.executors.asking import ask, refused

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "::1"])


def test_connections_are_kept_and_used_by_one_call_at_a_time(gateway):
    for _ in range(5):
        ask()
    assert gateway.connections == 1
    gateway.agents["slow"] = Script(delay=0.2)
    threads = [threading.Thread(target=ask, args=("slow",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gateway.connections == 3


def test_a_kept_connection_that_died_is_replaced(gateway, settings):
    ask()
    port = gateway.port
    with restarted(gateway, port) as fresh:
        assert ask().text == ANSWER
        assert fresh.connections == 1


@contextmanager
def restarted(gateway, port):
    """Every connection of the first gateway is dropped, and another one listens where it did."""
    gateway.stop()
    with running(FakeGateway({"triage": Script()}, token="sesame", port=port)) as fresh:
        yield fresh


def test_a_kept_connection_on_which_the_gateway_said_goodbye_is_replaced(gateway):
    gateway.agents["leaving"] = Script(raw=(), goodbye=b"\x88\x02\x03\xe8")
    ask("leaving")
    assert ask().text == ANSWER
    assert gateway.connections == 2


@pytest.mark.parametrize("half", [b"\x81", b"\x81\x05", b"\x81\x7e", b"\x81\x7e\xff\xff{", b"\x01\x01{", b"\x89\x05h"])
def test_a_kept_connection_on_which_half_a_frame_came_is_replaced(gateway, half):
    gateway.agents["babbling"] = Script(goodbye=half)
    ask("babbling")
    assert ask(timeout=2.0).text == ANSWER
    assert gateway.connections == 2


@pytest.mark.parametrize("length", [10, 125 - 80, 60_000, 65_536 - 80, 70_000])
def test_a_connection_is_kept_whatever_the_size_of_its_messages(gateway, length):
    gateway.agents["sized"] = Script(answer="x" * length)
    for _ in range(3):
        assert ask("sized").text == "x" * length
    assert gateway.connections == 1


def test_a_kept_connection_that_ends_before_the_call_is_accepted_is_replaced_once(gateway):
    ask()
    gateway.agents["leaving"] = Script(leaves=True)
    error = refused(agent="leaving")  # on the kept connection, then on a new one, and no more
    assert "closed the connection in the middle of the call" in str(error)
    assert gateway.connections == 2
    assert len(gateway.requests) == 3


def test_a_call_that_was_accepted_is_never_made_twice(gateway):
    gateway.agents["dying"] = Script(dies=True)
    ask()
    refused(agent="dying")
    assert len(gateway.requests) == 2
