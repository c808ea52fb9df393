"""One lock around each write transaction: nobody starves, nothing is lost, and it is always given back."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction

from runs.models import Team, Token

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not settings.ON_SQLITE, reason="about SQLite"),
]
NOW = datetime(2026, 7, 1, tzinfo=UTC)
COUNT_UP = """
import django; django.setup()
from tests.vectorstep.test_sqlite_lock import add_teams
add_teams(50)
"""


def add_teams(rounds: int) -> None:
    """Name each team after how many there are: two that count at the same time collide on the name."""
    for _ in range(rounds):
        with transaction.atomic():
            Team.objects.create(name=str(Team.objects.count()), created_at=NOW)


def in_thread(work: Callable[[], None]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def writes_elsewhere() -> bool:
    """Whether another thread gets through a write transaction promptly."""
    thread = in_thread(lambda: add_teams(1))
    thread.join(timeout=2)
    return not thread.is_alive()


def create_and_fail(name: str) -> None:
    with transaction.atomic():
        Team.objects.create(name=name, created_at=NOW)
        raise ZeroDivisionError


def test_threads_and_processes_take_turns(start):
    process = start("counter", ["-c", COUNT_UP])
    threads = [in_thread(lambda: add_teams(50)) for _ in range(4)]
    for thread in threads:
        thread.join()
    process.popen.wait(timeout=60)
    assert process.popen.returncode == 0, process.log()
    assert Team.objects.count() == 5 * 50


def test_an_error_gives_the_lock_back():
    with pytest.raises(ZeroDivisionError):
        create_and_fail("a")
    assert writes_elsewhere()


def test_a_commit_that_is_refused_gives_the_lock_back():
    # SQLite looks at foreign keys when it commits.
    with pytest.raises(IntegrityError), transaction.atomic():
        Token.objects.create(team_id="nobody", role=0, digest="d", prefix="p", created_at=NOW)
    assert writes_elsewhere()


def test_a_connection_closed_in_a_transaction_gives_the_lock_back():
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    connection.close()
    assert writes_elsewhere()


def test_a_writer_waits_for_the_other_and_a_reader_does_not():
    with transaction.atomic():
        Team.objects.create(name="a", created_at=NOW)
        seen: list[int] = []
        reader = in_thread(lambda: seen.append(Team.objects.count()))
        reader.join(timeout=5)
        assert seen == [0]
        writer = in_thread(lambda: add_teams(1))
        writer.join(timeout=0.3)
        assert writer.is_alive()
    writer.join(timeout=5)
    assert Team.objects.count() == 2


def test_blocks_may_nest():
    with transaction.atomic():
        Team.objects.create(name="outer", created_at=NOW)
        with pytest.raises(ZeroDivisionError):
            create_and_fail("inner")
    assert [team.name for team in Team.objects.all()] == ["outer"]
    assert writes_elsewhere()
