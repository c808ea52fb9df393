"""The test services themselves: what the other tests stand on."""

import psycopg
import redis

from tests.services import answers


def test_postgres_answers(postgres):
    with psycopg.connect(postgres.url()) as client:
        assert client.execute("select 1").fetchone() == (1,)


def test_valkey_answers(valkey):
    with redis.Redis.from_url(valkey.url()) as client:
        assert client.ping()


def test_a_worker_is_ready_and_dies_when_killed(worker):
    process = worker()
    assert process.running()
    process.kill()
    assert not process.running()


def test_beat_makes_a_worker_of_another_process_sweep(worker, beat):
    sweeper = worker()
    beat()
    sweeper.wait_for_line("runs.tasks.sweep")


def test_the_server_answers(server):
    assert answers(f"{server().url}/health")


def test_a_page_opens_in_chromium(server, page):
    page.goto(f"{server().url}/health")
    assert page.locator("body").count() == 1
