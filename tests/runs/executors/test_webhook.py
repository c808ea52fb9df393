from ipaddress import ip_network

import pytest

from runs import executors, outbound
from runs.executors.base import Call, ExecutorError, Stop
from tests.fakes.http import FakeHttp, response

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture(autouse=True)
def _loopback_is_listed(service):
    service(outbound={"allow_private": [ip_network("127.0.0.0/8")]})
    yield
    outbound._pool.close()


def ask(url, *, prompt='{"ticket": 1}', timeout=5.0, **config):
    call = Call(prompt=prompt, config={"url": url, **config}, timeout=timeout, idempotency_key="step-1")
    return executors.get("webhook").call(call, Stop(), lambda event: None)


def test_it_is_a_side_effect_and_no_agent():
    webhook = executors.get("webhook")
    assert (webhook.is_agent, webhook.on_interrupted, webhook.default_timeout) == (False, "escalate", 30)
    assert webhook.agent_name({"url": "https://hooks.example.com/x"}) == "hooks.example.com"
    assert webhook.agent_name({"url": "http://["}) == ""
    assert webhook.describe({}) is None


def test_the_prompt_is_the_body():
    with FakeHttp([response(b'{"id": 7}', headers="content-type: application/json\r\n")]).running() as server:
        reply = ask(server.url)
    assert reply.text == '{"id": 7}'
    assert reply.data == {"status_code": 200, "content_type": "application/json", "body": '{"id": 7}'}
    assert reply.trace is None
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST / HTTP/1.1")
    assert b"\r\ncontent-type: application/json\r\n" in head
    assert b"\r\nidempotency-key: step-1\r\n" in head
    assert body == b'{"ticket": 1}'


def test_method_content_type_and_headers():
    with FakeHttp([response()]).running() as server:
        ask(server.url, method="put", content_type="text/plain", headers={"Authorization": "Bearer x", "X-N": 1})
    head = server.requests[0]
    assert head.startswith(b"PUT / ")
    assert b"\r\ncontent-type: text/plain\r\n" in head
    assert b"\r\nauthorization: Bearer x\r\nx-n: 1\r\n" in head


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        ("400 Bad Request", False),
        ("401 Unauthorized", False),
        ("404 Not Found", False),
        ("408 Request Timeout", True),
        ("429 Too Many Requests", True),
        ("500 Oops", True),
        ("503 Unavailable", True),
        ("302 Found", False),
    ],
)
def test_anything_but_success_is_an_error(status, retryable):
    answer = response(b"why", status=status, headers="location: /x\r\n")
    with FakeHttp([answer]).running() as server, pytest.raises(ExecutorError) as caught:
        ask(server.url)
    assert f"127.0.0.1 answered HTTP {status[:3]}" in str(caught.value)
    assert (caught.value.retryable, caught.value.raw) == (retryable, "why")
    assert ("(to /x); redirects are not followed" in str(caught.value)) == (status == "302 Found")


def test_the_answer_is_bounded(service):
    service(limits={"answer_bytes": 1000})
    with (
        FakeHttp([response(b"x" * 2000)]).running() as server,
        pytest.raises(ExecutorError, match="more than 1000 bytes"),
    ):
        ask(server.url)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"url": None}, "executor_config.url"),
        ({"url": 5}, "executor_config.url"),
        ({"url": "http://169.254.169.254/latest"}, "may not be reached"),
        ({"url": "http://127.0.0.1:1/", "method": "BREW"}, "executor_config.method: expected one of DELETE"),
        ({"url": "http://127.0.0.1:1/", "headers": ["x"]}, "executor_config.headers"),
    ],
)
def test_configuration_that_cannot_work(config, message):
    with pytest.raises(ExecutorError) as caught:
        ask(**config)
    assert message in str(caught.value)
    assert not caught.value.retryable
