"""A message by webhook: from the transaction that caused it to the receiver, through whatever receivers do."""

import base64
import hashlib
import hmac
import json
import socket
from datetime import timedelta

import pytest
from django.utils import timezone

from runs.deliveries import again, due, sending
from runs.models import Delivery, DeliveryTry
from tests.at_once import at_once
from tests.fakes.http import FakeHttp, response
from tests.pipelines import step
from tests.runs.deliveries.outgoing import come_due, deliver, kinds

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.allow_hosts(["127.0.0.1"])]


def escalating(pipelines, url, *, stage="production", **config):
    """A run that has escalated, with a webhook to tell of it."""
    wanted = {"channel": "webhook", "config": {"url": url, **config}}
    pipelines.write("p", step("look", says=0.5), stage=stage, notifications={"escalate": wanted})
    return pipelines.run("p")


def headers_of(request):
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.decode().partition(": ") for line in head.split(b"\r\n")[1:]]
    return {name: value for name, _, value in lines}, body


def test_an_escalation_is_told_once_it_is_written(pipelines, settings):
    with FakeHttp([response(b"thanks")]).running() as receiver:
        run = escalating(pipelines, receiver.url)
        assert receiver.requests == []  # written with the escalation, sent by nobody yet
        assert Delivery.objects.get().state == "pending"

        [delivery] = deliver(run)

    headers, body = headers_of(receiver.requests[0])
    assert (delivery.state, delivery.to, delivery.tries) == ("delivered", "127.0.0.1", 1)
    assert headers["webhook-id"] == f"msg_{delivery.id.hex}"
    assert "webhook-signature" not in headers  # nobody gave a secret
    sent = json.loads(body)
    assert (sent["type"], sent["timestamp"]) == ("run.escalated", delivery.created_at.isoformat())
    assert sent["data"]["step"] == "look"
    assert (sent["data"]["trust"], sent["data"]["threshold"]) == (0.5, 0.75)
    assert sent["data"]["run_url"] == f"{settings.PUBLIC_URL}/ui/runs/{run.id}"
    text = sent["data"]["text"].split("\n")
    assert text[0] == "p: look waits for a decision"
    assert text[1] == "About: disk full"
    assert "Trust: 50% of the 75% needed (the agent said 50%)" in text
    one = DeliveryTry.objects.get()
    assert (one.number, one.status_code, one.response, one.error) == (1, 200, "thanks", "")
    assert kinds(run) == ["delivery.delivered"]


def test_a_message_is_signed_with_every_secret(pipelines, service, settings):
    old, new = b"o" * 24, b"n" * 32
    secrets = [f"whsec_{base64.b64encode(key).decode()}" for key in (new, old)]
    service(outbound={"signing_secrets": secrets, "allow_private": settings.SERVICE.outbound.allow_private})
    with FakeHttp([response()]).running() as receiver:
        deliver(escalating(pipelines, receiver.url, headers={"Webhook-Id": "forged"}))

    headers, body = headers_of(receiver.requests[0])
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = [base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in (new, old)]
    assert headers["webhook-signature"] == " ".join(f"v1,{one}" for one in expected)
    assert headers["webhook-id"].startswith("msg_")


def test_testing_writes_what_would_have_been_sent(pipelines):
    with FakeHttp([response()]).running() as receiver:
        run = escalating(pipelines, receiver.url, stage="testing")
        [delivery] = deliver(run)
        deliver(run)
    assert receiver.requests == []
    assert (delivery.state, delivery.to, delivery.due_at, delivery.tries) == ("muted", "127.0.0.1", None, 0)
    assert json.loads(delivery.body)["data"]["step"] == "look"
    assert kinds(run) == ["delivery.muted"]


def test_what_failed_is_tried_again_with_the_same_id_and_body(pipelines):
    with FakeHttp([response(b"oops", status="500 Oops"), response()]).running() as receiver:
        run = escalating(pipelines, receiver.url)
        [delivery] = deliver(run)
        assert (delivery.state, delivery.error) == ("pending", "HTTP 500")
        assert 4 <= (delivery.due_at - timezone.now()).total_seconds() <= 6
        sending.perform(delivery.id)  # a message that came twice: it is not due yet
        assert len(receiver.requests) == 1
        come_due(delivery)
        [delivery] = deliver(run)
    first, second = map(headers_of, receiver.requests)
    assert first[0]["webhook-id"] == second[0]["webhook-id"]
    assert first[1] == second[1]
    assert (delivery.state, delivery.tries, delivery.error) == ("delivered", 2, "")
    assert [(one.number, one.status_code) for one in delivery.attempts.order_by("number")] == [(1, 500), (2, 200)]
    assert kinds(run) == ["delivery.retry", "delivery.delivered"]


def test_after_eight_tries_it_has_failed_and_a_person_may_have_it_sent_again(pipelines):
    with FakeHttp([*[response(status="503 Busy")] * 8, response()]).running() as receiver:
        run = escalating(pipelines, receiver.url)
        for _ in range(10):
            [delivery] = deliver(run)
            come_due(delivery)
        assert (delivery.state, delivery.tries, delivery.due_at) == ("failed", 8, None)
        assert len(receiver.requests) == 8

        again.send_again(delivery.id, by="ada", now=timezone.now())
        [delivery] = deliver(run)
    assert (delivery.state, delivery.tries) == ("delivered", 9)
    assert kinds(run)[-3:] == ["delivery.failed", "delivery.again", "delivery.delivered"]
    with pytest.raises(again.NotAgain, match="is delivered"):
        again.send_again(delivery.id, by="ada", now=timezone.now())


def test_pauses_grow_and_are_never_all_the_same():
    pauses = [sending.pause_after(Delivery(tries=tries)).total_seconds() for tries in (1, 2, 3, 7)]
    for pause, middle in zip(pauses, (5, 20, 80, 3600), strict=True):
        assert middle * 0.8 <= pause <= middle * 1.2
    assert sending.pause_after(Delivery(tries=1)) != sending.pause_after(Delivery(tries=1))
    assert sending.pause_after(Delivery(tries=1), asked=600).total_seconds() == 600


def _hang(peer: socket.socket) -> None:
    peer.recv(1)  # until the other side has had enough


def _stream(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        peer.sendall(b"fff0\r\n" + b"x" * 0xFFF0 + b"\r\n")


@pytest.mark.parametrize(
    ("answer", "state", "error"),
    [
        (_hang, "pending", "gave no complete answer within 0.3 s"),
        (_stream, "pending", "answered with more than 1000000 bytes"),
        (response(status="404 Not Found"), "failed", "HTTP 404"),
        (
            response(status="302 Found", headers="location: http://169.254.169.254/latest\r\n"),
            "failed",
            "HTTP 302 (to http://169.254.169.254/latest); redirects are not followed",
        ),
    ],
)
def test_what_receivers_do(pipelines, answer, state, error):
    with FakeHttp([answer]).running() as receiver:
        run = escalating(pipelines, receiver.url, timeout_seconds=0.3 if answer is _hang else 10)
        [delivery] = deliver(run)
    assert delivery.state == state
    assert error in delivery.error
    assert receiver.connections == 1
    run.refresh_from_db()
    assert run.status == "escalated"


@pytest.mark.parametrize("url", ["http://169.254.169.254/", "http://10.1.2.3/", "ftp://x", "http://private.test/"])
def test_addresses_that_may_not_be_reached_are_not(pipelines, monkeypatch, url):
    monkeypatch.setattr("runs.wire.resolve", lambda host, port, guard: ["10.0.0.7" if "test" in host else host])
    run = escalating(pipelines, "{{ labels.hook }}")
    run.context["labels"] = {"hook": url}
    run.save(update_fields=["context"])
    [delivery] = deliver(run)
    assert (delivery.state, delivery.tries) == ("failed", 1)
    assert "may not be reached" in delivery.error or "expected an http or https url" in delivery.error


def test_a_send_that_nobody_finished_is_unknown_and_not_repeated(pipelines, monkeypatch):
    run = escalating(pipelines, "http://127.0.0.1:9/")
    monkeypatch.setattr(sending, "_outcome", lambda *_: (_ for _ in ()).throw(SystemExit))  # the worker dies
    with pytest.raises(SystemExit):
        deliver(run)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.tries) == ("sending", 1)

    due.look(now=delivery.wake_at - timedelta(seconds=1))
    assert Delivery.objects.get().state == "sending"
    due.look(now=delivery.wake_at + timedelta(seconds=1))
    due.look(now=delivery.wake_at + timedelta(hours=9))
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.due_at, delivery.wake_at) == ("unknown", None, None)
    one = DeliveryTry.objects.get()
    assert (one.number, one.ended_at) == (1, None)
    assert kinds(run) == ["delivery.unknown"]


def test_a_worker_that_was_only_slow_still_tells_how_it_ended(pipelines, monkeypatch):
    run = escalating(pipelines, "http://127.0.0.1:9/")

    def frozen(facts, limit, now):
        due.look(now=now + timedelta(hours=1))
        assert Delivery.objects.get().state == "unknown"
        return sending.Outcome(status_code=204)

    monkeypatch.setattr(sending, "_outcome", frozen)
    [delivery] = deliver(run)
    assert (delivery.state, delivery.attempts.get().status_code) == ("delivered", 204)


def test_of_two_workers_one_sends(pipelines):
    with FakeHttp([response()]).running() as receiver:
        escalating(pipelines, receiver.url)
        delivery = Delivery.objects.get()
        at_once(*[lambda: sending.perform(delivery.id)] * 4)
    assert len(receiver.requests) == 1
    assert Delivery.objects.get().state == "delivered"
    assert DeliveryTry.objects.count() == 1


def test_secrets_of_the_environment_are_sent_and_never_stored(pipelines, monkeypatch):
    monkeypatch.setenv("HOOK_PATH", "T01/B02/aV3rySecretPath9")
    monkeypatch.setenv("HOOK_KEY", "k3y-of-the-Receiver")
    with FakeHttp([response(b"no such hook aV3rySecretPath9 T01/B02/aV3rySecretPath9")]).running() as receiver:
        url, headers = receiver.url + "/${HOOK_PATH}", {"authorization": "Bearer ${HOOK_KEY}"}
        payload = {"said": "{{ summary }} ${HOOK_KEY}"}
        pipelines.write(
            "p",
            step("look", says=0.5),
            stage="production",
            notifications={
                "escalate": [{"channel": "webhook", "config": {"url": url, "headers": headers, "payload": payload}}]
            },
        )
        run = pipelines.run("p", summary="${HOOK_PATH} k3y-of-the-Receiver")
        [delivery] = deliver(run)
    headers, body = headers_of(receiver.requests[0])
    assert receiver.requests[0].startswith(b"POST /T01/B02/aV3rySecretPath9 HTTP")
    assert headers["authorization"] == "Bearer k3y-of-the-Receiver"
    # Only urls and headers are expanded; what a payload says never is, and a known secret in it is hidden.
    assert json.loads(body) == {"said": "${HOOK_PATH} [redacted] ${HOOK_KEY}"}
    assert delivery.body == body.decode()
    assert "T01/B02" not in delivery.attempts.get().response
