import json
import socket
import ssl
import threading
import time

import pytest

from runs import executors
from runs.executors.base import ExecutorError, Stop, Stopped
from tests.fakes.gateway import ANSWER, TRACE, FakeGateway, Script, running
from tests.fakes.http import FakeHttp
from tests.runs.executors.asking import ask, refused

DEEP = '{"type":"tool_call","name":"n","input":' + "[" * 500 + "]" * 500 + "}"

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "::1"])


def test_an_answer_with_all_that_the_gateway_reports(gateway):
    reply = ask()
    assert reply.text == ANSWER
    assert (reply.model, reply.provider, reply.agent_version) == ("fake-1", "fake", "0123456789ab")
    assert (reply.input_tokens, reply.output_tokens) == (100, 20)
    assert reply.trace == []  # it can report tools, and reported none


def test_what_is_sent(gateway):
    ask(
        prompt="größe 🦉 \x00 \ud800",
        key="abc",
        session_key="agent:triage:mine",
        model="big",
        thinking_level="high",
        trace_max_chars=9000,
    )
    (sent,) = gateway.requests
    traceparent = sent.pop("traceparent")
    assert sent == {
        "agentId": "triage",
        "sessionKey": "agent:triage:mine",
        "message": "größe 🦉 \x00 \ud800",
        "model": "big",
        "thinkingLevel": "high",
        "traceToolResultMax": 9000,
    }
    version, trace_id, span_id, flags = traceparent.split("-")
    assert (version, len(trace_id), len(span_id), flags) == ("00", 32, 16, "01")


def test_the_same_key_gives_the_same_traceparent_and_every_call_a_session_of_its_own(gateway):
    for key in ("a", "a", "b"):
        ask(key=key)
    first, second, third = gateway.requests
    assert first["traceparent"] == second["traceparent"] != third["traceparent"]
    sessions = [request["sessionKey"] for request in gateway.requests]
    assert len(set(sessions)) == 3
    assert [session.rpartition(":")[0] for session in sessions] == [
        "agent:triage:a",
        "agent:triage:a",
        "agent:triage:b",
    ]


def test_events_are_fit_to_be_stored(gateway):
    event = {"type": "tool_result", "name": "x\x00", "content": "\ud800", "is_error": False}
    gateway.agents["odd"] = Script(
        raw=(f'{{"type":"res","id":"2","ok":true,"payload":{{"status":"trace_event","event":{DEEP}}}}}',),
        trace=(event,),
    )
    seen = []
    reply = ask("odd", on_event=seen.append)
    stored = {"type": "tool_result", "name": "x\\u0000", "content": "\\ud800", "is_error": False}
    assert reply.trace == [stored]
    assert seen[0] == stored
    assert len(str(seen[1])) < 1000


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"agent": ""}, "executor_config.agent"),
        ({"agent": None}, "executor_config.agent"),
        ({"session_key": "agent:other:x"}, "begins with 'agent:triage:'"),
    ],
)
def test_configuration_that_cannot_work(gateway, config, message):
    error = refused(**config)
    assert message in str(error)
    assert not error.retryable


def test_events_are_streamed_as_they_come(gateway):
    gateway.agents["tracing"] = Script(trace=TRACE, silent=True)
    stop, seen = Stop(), []

    def on_event(event):
        seen.append(event)
        if len(seen) == len(TRACE):
            stop.set()  # the call has not ended, so these came while it ran

    with pytest.raises(Stopped):
        ask("tracing", stop=stop, on_event=on_event)
    assert seen == list(TRACE)


@pytest.mark.parametrize(("streamed", "in_result"), [(True, True), (True, False), (False, True)])
def test_the_trace_is_the_results_or_else_what_was_streamed(gateway, streamed, in_result):
    gateway.agents["tracing"] = Script(trace=TRACE, streamed=streamed, trace_in_result=in_result)
    seen = []
    assert ask("tracing", on_event=seen.append).trace == list(TRACE)
    assert seen == (list(TRACE) if streamed else [])


def test_several_payloads_and_missing_facts(gateway):
    gateway.agents["odd"] = Script(payloads=("one", "two"), usage=None, model="", provider="", version="")
    reply = ask("odd")
    assert reply.text == "one\ntwo"
    assert (reply.model, reply.provider, reply.agent_version) == ("", "", "")
    assert (reply.input_tokens, reply.output_tokens) == (None, None)


def test_five_megabytes_both_ways(gateway):
    text = "ü" * 1_000_000 + "x" * 3_000_000
    gateway.agents["echo"] = Script(answer=lambda params: params["message"])
    assert ask("echo", prompt=text).text == text


def test_an_answer_past_the_limit(gateway, service):
    service(limits={"answer_bytes": 10_000})
    gateway.agents["long"] = Script(answer="x" * 20_000)
    assert "larger than 10000 bytes (limits.answer_bytes)" in str(refused(agent="long"))
    assert ask().text == ANSWER


def test_refusals(gateway):
    gateway.agents |= {"broken": Script(error="overloaded", trace=TRACE), "aborted": Script(aborted=True, trace=TRACE)}
    error = refused(agent="broken")
    assert str(error) == "the gateway could not answer: overloaded"
    assert (error.retryable, error.trace) == (True, list(TRACE))
    error = refused(agent="aborted")
    assert "aborted" in str(error)
    assert (error.raw, error.trace) == (ANSWER, list(TRACE))
    assert "no agent 'nobody'" in str(refused(agent="nobody"))
    assert gateway.connections == 1  # an answer, even a bad one, leaves the connection as good as it was


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("not json", "is not JSON: 'not json'"),
        ("[1]", "JSON that is not an object"),
        ('{"type": "hello"}', "unknown type 'hello'"),
        ("[" * 100_000, "is not JSON"),
        ('{"type":"res","id":"2","ok":true}', "without a payload"),
        ('{"type":"res","id":"2","ok":true,"payload":{"status":"maybe"}}', "unknown status 'maybe'"),
        ('{"type":"res","id":"2","ok":true,"payload":{"status":"ok"}}', "without a result"),
        ('{"type":"res","id":"2","ok":true,"payload":{"status":"ok","result":{}}}', "no payloads"),
        ('{"type":"res","id":"2","ok":false}', "no reason given"),
        (b"\xff\xff\xff\xff\xff\xff", "broke the WebSocket protocol"),
        (b"\x81\x02\xff\xff", "is not JSON"),
    ],
)
def test_what_is_not_the_protocol(gateway, raw, message):
    gateway.agents["garbage"] = Script(raw=(raw,))
    error = refused(agent="garbage")
    assert message in str(error)
    assert "sesame" not in str(error)
    assert ask().text == ANSWER


@pytest.mark.parametrize(
    "harmless",
    [
        '{"type":"event","event":"tick","payload":{}}',
        '{"type":"res","id":"another","ok":false,"error":{"message":"old"}}',
        '{"type":"res","id":"2","ok":true,"payload":{"status":"trace_event"}}',
        b"\x89\x02hi",  # a ping
        b"\x82\x02hi",  # a binary message
        b"\x01\x02{}\x80\x00",  # in two fragments; see below
    ],
)
def test_what_is_passed_over(gateway, harmless):
    gateway.agents["chatty"] = Script(raw=(harmless,))
    if harmless == b"\x01\x02{}\x80\x00":
        assert "unknown type None" in str(refused(agent="chatty"))
    else:
        assert ask("chatty").text == ANSWER


def test_fragments_are_put_together(gateway):
    message = b'{"type":"event"}'
    frames = bytes([0x01, 5]) + message[:5] + b"\x89\x00" + bytes([0x80, len(message) - 5]) + message[5:]
    gateway.agents["fragments"] = Script(raw=(frames,))
    assert ask("fragments").text == ANSWER


def test_a_gateway_that_dies_in_the_middle(gateway):
    gateway.agents["dying"] = Script(trace=TRACE, dies=True)
    error = refused(agent="dying")
    assert f"the gateway at {gateway.url} closed the connection in the middle of the call" in str(error)
    assert (error.retryable, error.trace) == (True, list(TRACE))


def test_a_close_frame_is_told_with_its_reason(gateway):
    gateway.agents["closing"] = Script(raw=(b"\x88\x0a" + (1012).to_bytes(2, "big") + b"restarts",))
    assert "(code 1012: restarts)" in str(refused(agent="closing"))


def test_timeout_is_total_and_cancels_the_call(gateway):
    gateway.agents["dripping"] = Script(trace=TRACE * 1000, event_delay=0.02)
    started = time.monotonic()
    error = refused(agent="dripping", timeout=0.2)
    assert time.monotonic() - started < 2
    assert str(error) == "agent 'dripping' gave no answer within 0.2 s"
    assert error.retryable
    assert error.trace
    assert ask().text == ANSWER  # on a new connection, served after the old one's end
    assert gateway.cancelled == 1


def test_stop_cancels_the_call_at_once(gateway):
    gateway.agents["silent"] = Script(silent=True, trace=TRACE[:1])
    stop = Stop()
    with pytest.raises(Stopped):
        ask("silent", stop=stop, on_event=lambda event: threading.Thread(target=stop.set).start())
    assert ask().text == ANSWER
    assert gateway.cancelled == 1


def test_a_stop_before_the_call(gateway):
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        ask(stop=stop)
    assert gateway.requests == []


def test_a_stop_after_the_call_leaves_the_connection_alone(gateway):
    stop = Stop()
    ask(stop=stop)
    stop.set()
    ask()
    assert gateway.connections == 1


def test_nobody_listens(service, settings):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    use(service, settings, url=f"ws://127.0.0.1:{port}/rpc", token="sesame")
    error = refused()
    assert str(error) == f"cannot connect to the gateway at ws://127.0.0.1:{port}/rpc: Connection refused"
    assert error.retryable


def use(service, settings, **fields):
    service(executors={"gateway": settings.SERVICE.executors.gateway.model_copy(update=fields)})


def test_the_wrong_token(gateway, service, settings):
    use(service, settings, token="guess")
    error = refused()
    assert f"the gateway at {gateway.url} refused the token: wrong token" in str(error)
    assert "guess" not in str(error)
    assert not error.retryable


@pytest.mark.parametrize("path", ["/health", "/nowhere"])
def test_an_http_server_that_is_no_gateway(gateway, service, settings, path):
    use(service, settings, url=gateway.url.replace("/rpc", path))
    assert "answered the WebSocket handshake with HTTP" in str(refused())


@pytest.mark.parametrize("url", ["http://127.0.0.1/rpc", "nonsense", "ws://127.0.0.1:99999/rpc", ""])
def test_a_url_that_is_none(service, settings, url):
    use(service, settings, url=url)
    error = refused()
    assert "executors.gateway.url" in str(error)
    assert not error.retryable


@pytest.mark.parametrize(
    ("said", "message"),
    [(b"", "gave no answer within"), (b"SSH-2.0-OpenSSH\r\n", "did not answer the WebSocket handshake")],
)
def test_a_server_that_speaks_something_else(service, settings, said, message):
    def speak(peer):
        peer.sendall(said)
        peer.recv(1)

    with FakeHttp([speak]).running() as server:
        use(service, settings, url=f"ws://127.0.0.1:{server.port}/rpc")
        assert message in str(refused(timeout=0.3))


def test_wss_must_prove_its_name(service, settings, certificate, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert", certificate / "key")
    with running(FakeGateway({"triage": Script()}, context=context)) as gateway:
        use(service, settings, url=gateway.url.replace("127.0.0.1", "localhost"))
        assert "certificate verify failed" in str(refused())
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert"))
        assert ask().text == ANSWER
        assert ask().text == ANSWER
        assert gateway.connections == 1
        stop, silent = Stop(), Script(silent=True, trace=TRACE[:1])
        gateway.agents["silent"] = silent
        with pytest.raises(Stopped):
            ask("silent", stop=stop, on_event=lambda event: stop.set())


def test_describe(gateway):
    definition = executors.get("gateway").describe({"agent": "triage"})
    assert (definition.version, definition.soul, definition.config) == (
        "0123456789ab",
        "You are a fake.",
        "name: fake\n",
    )
    assert executors.get("gateway").describe({"agent": "no/body"}) is None


def test_describe_with_the_wrong_token(gateway, service, settings):
    use(service, settings, token="guess")
    with pytest.raises(ExecutorError, match="answered HTTP 401"):
        executors.get("gateway").describe({"agent": "triage"})


def test_agent_name():
    assert executors.get("gateway").agent_name({"agent": "triage"}) == "triage"


def test_ten_threads_share_the_gateway(gateway):
    gateway.agents["echo"] = Script(answer=lambda params: json.dumps(params["message"]))
    wrong = []

    def work(name):
        for number in range(50):
            prompt = f"{name}-{number}"
            if ask("echo", prompt=prompt).text != json.dumps(prompt):
                wrong.append(prompt)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert gateway.connections <= 10
