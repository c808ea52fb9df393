"""The fake against the wire format of the real Gateway, spoken by a client that shares no code with the executor."""

import json
import urllib.error
import urllib.request

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.fakes.gateway import ANSWER, TRACE, FakeGateway, Script, running

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

AGENTS = {
    "plain": Script(),
    "tracing": Script(trace=TRACE, usage=None),
    "broken": Script(error="overloaded"),
    "dying": Script(trace=TRACE, dies=True),
    "slow": Script(delay=60),
}


@pytest.fixture(scope="module")
def gateway():
    with running(FakeGateway(AGENTS, token="t")) as gateway:
        yield gateway


@pytest.fixture
def socket(gateway):
    with connect(gateway.url, compression=None, proxy=None) as socket:
        yield socket


def say(socket, identity, method, params):
    socket.send(json.dumps({"type": "req", "id": identity, "method": method, "params": params}))


def hear(socket):
    return json.loads(socket.recv(timeout=5))


def log_in(socket, token="t"):
    assert hear(socket)["event"] == "challenge"
    say(socket, "1", "connect", {"auth": {"token": token}})
    return hear(socket)


def ask(socket, agent, session="agent:{}:s"):
    log_in(socket)
    say(socket, "2", "agent", {"agentId": agent, "sessionKey": session.format(agent), "message": "hello"})


def test_challenge_and_login(socket):
    challenge = hear(socket)
    assert (challenge["type"], challenge["event"]) == ("event", "challenge")
    assert challenge["payload"]["nonce"]
    say(socket, "1", "connect", {"auth": {"token": "t"}})
    assert hear(socket) == {"type": "res", "id": "1", "ok": True, "payload": {"protocol": 3}}


def test_wrong_token(socket):
    assert log_in(socket, token="x") == {"type": "res", "id": "1", "ok": False, "error": {"message": "wrong token"}}
    say(socket, "2", "agent", {"agentId": "plain", "sessionKey": "agent:plain:s", "message": ""})
    assert hear(socket)["ok"] is False


def test_a_call_is_accepted_then_ok(socket):
    ask(socket, "plain")
    accepted = hear(socket)
    assert (accepted["id"], accepted["ok"], accepted["payload"]["status"]) == ("2", True, "accepted")
    assert accepted["payload"]["runId"]
    ended = hear(socket)
    assert (ended["type"], ended["id"], ended["ok"], ended["payload"]["status"]) == ("res", "2", True, "ok")
    result = ended["payload"]["result"]
    assert result["payloads"] == [{"text": ANSWER}]
    assert result["trace"] == []
    assert result["meta"] == {
        "durationMs": 0,
        "agentMeta": {
            "provider": "fake",
            "model": "fake-1",
            "agentVersion": "0123456789ab",
            "usage": {"input_tokens": 100, "output_tokens": 20},
        },
        "aborted": False,
    }


def test_trace_events_come_in_between(socket):
    ask(socket, "tracing")
    messages = [hear(socket) for _ in range(5)]
    assert [message["payload"]["status"] for message in messages] == ["accepted", *["trace_event"] * 3, "ok"]
    assert [message["payload"]["event"] for message in messages[1:4]] == list(TRACE)
    assert messages[4]["payload"]["result"]["trace"] == list(TRACE)


def test_errors(socket):
    ask(socket, "broken")
    assert hear(socket)["payload"]["status"] == "accepted"
    assert hear(socket) == {"type": "res", "id": "2", "ok": False, "error": {"message": "overloaded"}}
    say(socket, "3", "agent", {"agentId": "nobody", "sessionKey": "agent:nobody:s", "message": ""})
    assert hear(socket)["error"]["message"] == "no agent 'nobody'"
    say(socket, "4", "agent", {"agentId": "plain", "sessionKey": "agent:other:s", "message": ""})
    assert hear(socket)["ok"] is False


def test_a_dying_gateway_closes_in_the_middle(socket):
    ask(socket, "dying")
    assert [hear(socket)["payload"]["status"] for _ in range(4)] == ["accepted", *["trace_event"] * 3]
    with pytest.raises(ConnectionClosed):
        hear(socket)


def test_closing_the_socket_cancels_the_call(gateway):
    before = gateway.cancelled
    with connect(gateway.url, compression=None, proxy=None) as socket:
        ask(socket, "slow")
        assert hear(socket)["payload"]["status"] == "accepted"
    with connect(gateway.url, compression=None, proxy=None) as socket:  # served after the other one's end
        log_in(socket)
    assert gateway.cancelled == before + 1


def test_rest(gateway):
    def get(path, token="t"):
        request = urllib.request.Request(gateway.rest_url + path, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    assert get("/health", token="") == {"status": "ok"}
    assert {agent["name"] for agent in get("/agents")} == set(AGENTS)
    assert get("/agents/plain") == {
        "name": "plain",
        "version": "0123456789ab",
        "soul_md": "You are a fake.",
        "agent_yaml": "name: fake\n",
    }
    for path, token, status in (("/agents/nobody", "t", 404), ("/agents", "x", 401)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            get(path, token)
        assert caught.value.code == status
        caught.value.close()
