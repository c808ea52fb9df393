"""Webhooks against the real web process."""

import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from runs.models import Run
from tests.runs.intake_factories import bearer, pipeline


@pytest.fixture
def web(server):
    return server()


def post(web, body, *, headers=None, **more):
    """``body`` is JSON to be, or an iterator of chunks (sent without a Content-Length)."""
    connection = http.client.HTTPConnection(urlsplit(web.url).netloc, timeout=20)
    connection.request(
        "POST",
        "/webhook",
        json.dumps(body) if isinstance(body, dict) else body,
        {"Content-Type": "application/json", **headers},
        **more,
    )
    answer = connection.getresponse()
    read = answer.status, json.loads(answer.read())
    connection.close()
    return read


def test_a_run_id_given_is_a_run_that_is_stored(web):
    pipeline()
    status, body = post(web, {"pipeline": "triage"}, headers=bearer())
    assert (status, body["status"]) == (202, "accepted")
    assert Run.objects.get(id=body["run_id"]).status == "queued"


def test_equal_posts_at_once_are_one_run(web):
    pipeline()
    headers = bearer()
    payload = {"pipeline": "triage", "idempotency_key": "k"}
    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: post(web, payload, headers=headers), range(5)))
    assert {status for status, _ in answers} == {202}
    assert len({body["run_id"] for _, body in answers}) == 1
    assert sorted(body["status"] for _, body in answers) == ["accepted"] + ["deduplicated"] * 4
    assert Run.objects.count() == 1


def test_a_body_in_chunks(web):
    pipeline()
    chunks = iter([b'{"pipeline": ', b'"triage", "summary": "in parts"}'])
    status, _ = post(web, chunks, headers=bearer(), encode_chunked=True)
    assert status == 202
    assert Run.objects.get().summary == "in parts"


def test_too_many_chunks_are_413(web, settings):
    limit = settings.SERVICE.limits.payload_bytes
    chunks = (b" " * 65_536 for _ in range(2 * limit // 65_536))
    status, body = post(web, chunks, headers=bearer(), encode_chunked=True)
    assert status == 413
    assert f"{limit:,}" in body["error"]


def test_a_body_too_long_is_413(web, settings):
    status, _ = post(web, b" " * (settings.SERVICE.limits.payload_bytes + 1), headers=bearer())
    assert status == 413


def test_broker_down_is_accepted_and_left_to_the_sweeper(server):
    web = server(env={"CELERY_BROKER_URL": "redis://127.0.0.1:1/0"})
    pipeline()
    status, body = post(web, {"pipeline": "triage"}, headers=bearer())
    assert status == 202
    run = Run.objects.get(id=body["run_id"])
    assert run.status == "queued"
    assert run.wake_at is not None


def test_a_frozen_broker_holds_up_neither_senders_nor_pages_for_long(server):
    with socket.create_server(("127.0.0.1", 0)) as frozen:  # takes connections, and never says a word
        web = server(env={"CELERY_BROKER_URL": f"redis://127.0.0.1:{frozen.getsockname()[1]}/0"})
        pipeline()
        began = time.monotonic()
        assert post(web, {"pipeline": "triage"}, headers=bearer())[0] == 202
        assert time.monotonic() - began < 10
        began = time.monotonic()
        assert post(web, {"pipeline": "triage"}, headers=bearer())[0] == 202
        assert time.monotonic() - began < 1  # known by now
