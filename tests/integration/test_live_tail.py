"""The live tail over a real server and real HTTP."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from django.test import Client
from django.utils import timezone

from runs.models import Run, RunEvent
from runs.views.run_events import BATCH
from tests import factories
from tests.services import Process

Start = Callable[..., Process]


@pytest.fixture
def signed_in(server: Start) -> Iterator[httpx.Client]:
    process = server()
    django = Client()
    django.force_login(factories.user(role="viewer"))
    cookies = {"sessionid": django.cookies["sessionid"].value}
    with httpx.Client(base_url=process.url, cookies=cookies, timeout=20) as client:
        yield client


def running(*messages: str) -> tuple[Run, list[int]]:
    run = factories.run(status="running", now=timezone.now())
    return run, [factories.event(run, message).id for message in messages]


def end(run: Run) -> None:
    Run.objects.filter(id=run.id).update(status="completed", completed_at=timezone.now())


def messages(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """Each server-sent event as {id, event, data}; comments as {comment}."""
    message: dict[str, Any] = {}
    for line in response.iter_lines():
        if not line:
            if message.get("data") or "comment" in message:
                yield message
            message = {}
        elif line.startswith(":"):
            message["comment"] = line
        else:
            name, _, value = line.partition(": ")
            message[name] = json.loads(value) if name == "data" else value


def told(client: httpx.Client, address: str, **given: Any) -> list[str]:
    with client.stream("GET", address, **given) as response:
        return [message["data"]["message"] for message in messages(response) if message["event"] == "log"]


def test_what_was_and_what_comes_then_the_end(signed_in: httpx.Client) -> None:
    run, ids = running("one", "two")
    with signed_in.stream("GET", f"/ui/runs/{run.id}/events") as response:
        assert response.headers["content-type"] == "text/event-stream"
        stream = messages(response)
        assert [next(stream)["data"]["message"] for _ in ids] == ["one", "two"]
        third = factories.event(run, "three\nwith a second line: and a colon").id
        came = next(stream)
        assert came["id"] == str(third)
        assert came["data"]["message"] == "three\nwith a second line: and a colon"
        end(run)
        assert next(stream) == {"event": "end", "data": {"status": "completed"}}
        assert list(stream) == []


def test_a_reader_who_was_cut_off_continues_where_it_was(signed_in: httpx.Client) -> None:
    run, ids = running("one", "two", "three")
    RunEvent.objects.update(at=factories.NOW)  # long ago: nothing around the cut can still be on its way
    end(run)
    address = f"/ui/runs/{run.id}/events"
    assert told(signed_in, address, headers={"Last-Event-ID": str(ids[0])}) == ["two", "three"]
    assert told(signed_in, address, params={"after": ids[1]}) == ["three"]
    # Rows of the last seconds may have been committed late: they are sent again rather than lost.
    RunEvent.objects.update(at=timezone.now())
    assert told(signed_in, address, headers={"Last-Event-ID": str(ids[1])}) == ["one", "three"]


def test_a_long_log_comes_whole_and_in_order(signed_in: httpx.Client) -> None:
    run, _ = running()
    RunEvent.objects.bulk_create(
        RunEvent(run=run, at=factories.NOW, kind="agent.text", message=str(n)) for n in range(2 * BATCH + 7)
    )
    end(run)
    assert told(signed_in, f"/ui/runs/{run.id}/events") == [str(n) for n in range(2 * BATCH + 7)]


def test_many_open_tails_do_not_slow_a_page(signed_in: httpx.Client) -> None:
    run, _ = running("one")
    opened = threading.Barrier(31)
    hold = threading.Event()

    def tail() -> None:
        with signed_in.stream("GET", f"/ui/runs/{run.id}/events") as response:
            next(messages(response))
            opened.wait(20)
            hold.wait(20)

    threads = [threading.Thread(target=tail) for _ in range(30)]
    for thread in threads:
        thread.start()
    try:
        opened.wait(20)
        page = signed_in.get("/ui/runs")
        assert page.status_code == 200
        assert page.elapsed.total_seconds() < 2
    finally:
        hold.set()
        for thread in threads:
            thread.join()


def test_who_is_refused(signed_in: httpx.Client) -> None:
    run, _ = running()
    address = f"/ui/runs/{run.id}/events"
    for after in ("x", "-1", "1e3", "9" * 30):
        assert signed_in.get(address, params={"after": after}).status_code == 400
    assert signed_in.get("/ui/runs/00000000-0000-0000-0000-000000000000/events").status_code == 404
    assert signed_in.post(address).status_code in {403, 405}
    assert httpx.get(f"{signed_in.base_url}{address}").status_code == 302
