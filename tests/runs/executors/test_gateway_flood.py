"""A gateway that never pauses and never ends a call: it is held to the call's time and to the limit of bytes."""

import json
import struct
import time

import pytest

from tests.fakes.gateway import Script
from tests.runs.executors.asking import refused

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "::1"])


def text_frame(message):
    data = json.dumps(message).encode()
    return b"\x81\x7e" + struct.pack(">H", len(data)) + data


def payload(**fields):
    return text_frame({"type": "res", "id": "2", "ok": True, "payload": fields, "pad": "x" * 200})


def refused_after(gateway, flood, *, seconds):
    gateway.agents["flood"] = Script(flood=flood)
    started = time.monotonic()
    error = refused(agent="flood", timeout=seconds)
    return error, time.monotonic() - started


@pytest.mark.parametrize(
    "flood",
    [
        b"\x89\x02hi",
        b"\x82\x02hi",
        b"\x01\x00" + b"\x00\x00" * 100_000,
        payload(status="accepted"),
        text_frame({"type": "event", "event": "tick", "payload": {"pad": "x" * 200}}),
    ],
    ids=["pings", "binary", "empty fragments", "accepted again", "news"],
)
def test_a_flood_does_not_outlast_the_calls_time(gateway, flood):
    error, took = refused_after(gateway, flood, seconds=0.4)
    assert str(error) == "agent 'flood' gave no answer within 0.4 s"
    assert took < 3


def test_trace_events_without_end_are_cut_off_by_the_limit_of_an_answer(gateway, service):
    service(limits={"answer_bytes": 100_000})
    error, _ = refused_after(gateway, payload(status="trace_event", event={"type": "text", "content": "x"}), seconds=20)
    assert "sent trace events of more than 100000 bytes (limits.answer_bytes)" in str(error)
    assert 0 < len(error.trace) <= 100_000 // 200
