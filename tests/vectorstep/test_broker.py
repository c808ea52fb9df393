"""The broker made of files: whole messages, each to one consumer, in about the order they came."""

import json
import multiprocessing
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection

from vectorstep import broker  # noqa: F401 (vectorstep registers it as "filesystem")

COUNT = 2000


def connect(folder: Path) -> Connection:
    return Connection("filesystem://", transport_options={"folder": str(folder)})


def drain(folder: str, results: "multiprocessing.Queue[list[int]]", done: "multiprocessing.Event") -> None:
    """Take messages until the producer has ended and nothing is left."""
    got: list[int] = []
    with connect(Path(folder)) as connection:
        queue = connection.SimpleQueue("work")
        while True:
            ended = done.is_set()
            try:
                message = queue.get(block=False)
            except Empty:
                if ended:
                    break
                continue
            got.append(message.payload["number"])
            assert message.payload["padding"] == "x" * 3000
            message.ack()
    results.put(got)


def test_two_consumers_share_2000_messages_and_lose_none(tmp_path):
    context = multiprocessing.get_context("spawn")
    results, done = context.Queue(), context.Event()
    consumers = [context.Process(target=drain, args=[str(tmp_path), results, done]) for _ in range(2)]
    for consumer in consumers:
        consumer.start()
    with connect(tmp_path) as connection:
        queue = connection.SimpleQueue("work")
        for number in range(COUNT):
            queue.put({"number": number, "padding": "x" * 3000})
    done.set()
    shares = [results.get(timeout=60) for _ in consumers]
    for consumer in consumers:
        consumer.join()
        assert consumer.exitcode == 0
    assert sorted(shares[0] + shares[1]) == list(range(COUNT))
    assert list((tmp_path / "work").iterdir()) == []


def test_messages_come_in_the_order_in_which_they_were_sent(tmp_path):
    with connect(tmp_path) as connection:
        queue = connection.SimpleQueue("work")
        for number in range(50):
            queue.put({"number": number})
        assert [queue.get(block=False).payload["number"] for _ in range(50)] == list(range(50))


@pytest.fixture
def queue(tmp_path) -> Iterator:
    with connect(tmp_path) as connection:
        yield connection.SimpleQueue("work")


def test_a_message_half_written_is_not_seen(queue, tmp_path):
    (tmp_path / "work" / ".00000000000000000001-half").write_text('{"body": "cut o')
    with pytest.raises(Empty):
        queue.get(block=False)
    queue.put({"number": 1})
    assert queue.get(block=False).payload == {"number": 1}


def test_order_is_kept_for_one_consumer(queue):
    for number in range(50):
        queue.put({"number": number})
    assert [queue.get(block=False).payload["number"] for _ in range(50)] == list(range(50))


def test_size_and_purge(queue):
    for number in range(5):
        queue.put(number)
    assert queue.qsize() == 5
    assert queue.clear() == 5
    assert queue.qsize() == 0


def test_no_queue_name_leaves_the_folder(tmp_path):
    with connect(tmp_path / "broker") as connection:
        connection.SimpleQueue("../../etc/x").put({"a": 1})
    assert not (tmp_path.parent / "etc").exists()
    assert [path.name for path in (tmp_path / "broker").iterdir()] == ["%2E%2E%2F%2E%2E%2Fetc%2Fx"]


def test_the_folder_may_vanish_and_comes_back(queue, tmp_path):
    for file in (tmp_path / "work").iterdir():
        file.unlink()
    (tmp_path / "work").rmdir()
    queue.put({"number": 1})
    assert queue.get(block=False).payload == {"number": 1}


def test_a_waiting_consumer_gets_the_message_at_once(queue, tmp_path):
    def put() -> None:
        with connect(tmp_path) as connection:
            connection.SimpleQueue("work").put({"number": 7})

    threading.Timer(0.1, put).start()
    assert queue.get(timeout=5).payload == {"number": 7}


def test_messages_are_readable_by_whoever_looks(queue, tmp_path):
    queue.put({"number": 1})
    (file,) = (tmp_path / "work").iterdir()
    assert json.loads(file.read_text())["content-type"] == "application/json"
