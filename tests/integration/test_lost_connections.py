"""The database restarts under a process that holds connections to it."""

import threading

import pytest
from django.conf import settings
from django.db import connection

from runs.engine import transactions
from runs.models import Run
from tests.runs.intake_factories import bearer, pipeline

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(settings.ON_SQLITE, reason="SQLite is in the process"),
]
MANY = 8


def hold_connections() -> None:
    """As many as MANY threads, all back in the pool afterwards."""
    together = threading.Barrier(MANY)

    def hold() -> None:
        Run.objects.count()
        together.wait(timeout=10)
        connection.close()

    threads = [threading.Thread(target=hold) for _ in range(MANY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def drop_all() -> None:
    """What a restart does to them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    connection.close()


def test_a_write_outlives_the_loss_of_every_pooled_connection(stack_env):
    hold_connections()
    drop_all()
    assert transactions.write(lambda: Run.objects.filter(status="x").update(reason="")) == 0


def test_a_sender_is_told_to_come_back_and_then_accepted(client, stack_env):
    pipeline()
    sender = {"content_type": "application/json", "headers": bearer()}
    client.post("/webhook", {"pipeline": "triage", "idempotency_key": "a"}, **sender)
    hold_connections()
    drop_all()
    answers = [client.post("/webhook", {"pipeline": "triage", "idempotency_key": str(n)}, **sender) for n in range(2)]
    assert [answer.status_code for answer in answers] in ([503, 202], [202, 202])
