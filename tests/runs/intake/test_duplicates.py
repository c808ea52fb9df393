"""What is a duplicate, also when everything happens at once."""

import threading
from datetime import timedelta

import pytest
from django.db import close_old_connections, connection

from runs.engine.work import Work
from runs.intake import accept as accepting
from runs.intake import dedup
from runs.models import Run, RunEvent, RunStatus
from tests.runs.intake_factories import NOW, alert, keyed, pipeline, post

on_commit = pytest.mark.django_db(transaction=True)
pytestmark = pytest.mark.django_db


def end(run_id, status=RunStatus.COMPLETED, *, at=NOW):
    Run.objects.filter(id=run_id).update(status=status, completed_at=at, wake_at=None)


def test_without_a_key_nothing_is_a_duplicate():
    pipeline()
    assert post().run_id != post().run_id


@pytest.mark.parametrize("status", ["queued", "running"])
def test_in_flight_is_always_a_duplicate(status):
    pipeline(trigger={"dedup": {"window_seconds": 0}})
    first = post(keyed())
    Run.objects.update(status=status)
    again = post(keyed(), now=NOW + timedelta(days=2))
    assert (again.status, again.run_id) == ("deduplicated", first.run_id)
    assert status in again.reason


@pytest.mark.parametrize(
    ("seconds", "status"), [(0, "deduplicated"), (299, "deduplicated"), (300, "accepted"), (301, "accepted")]
)
def test_ended_within_the_window_is_a_duplicate(seconds, status):
    pipeline()
    end(post(keyed()).run_id)
    assert post(keyed(), now=NOW + timedelta(seconds=seconds)).status == status


def test_escalated_is_no_longer_in_flight():
    pipeline()
    first = post(keyed())
    Run.objects.update(status=RunStatus.ESCALATED)
    second = post(keyed())
    assert second.status == "accepted"
    assert second.run_id != first.run_id


def test_a_run_in_flight_is_the_twin_though_a_newer_one_has_ended():
    """As after a decision on an escalated run, which went on while another began and ended."""
    pipeline()
    older = post(keyed())
    Run.objects.update(status=RunStatus.ESCALATED)
    end(post(keyed()).run_id)
    Run.objects.filter(id=older.run_id).update(status=RunStatus.RUNNING)
    again = post(keyed(), now=NOW + timedelta(seconds=1))
    assert (again.status, again.run_id) == ("deduplicated", older.run_id)


def test_pipelines_own_window_goes_before_the_services(settings):
    pipeline(trigger={"dedup": {"window_seconds": 10}})
    end(post(keyed()).run_id)
    assert post(keyed(), now=NOW + timedelta(seconds=9)).status == "deduplicated"
    assert post(keyed(), now=NOW + timedelta(seconds=10)).status == "accepted"


def test_window_longer_than_time_itself():
    pipeline(trigger={"dedup": {"window_seconds": 10**15}})
    end(post(keyed()).run_id)
    assert post(keyed(), now=NOW + timedelta(days=365)).status == "deduplicated"


def test_looking_for_a_twin_reads_only_its_key():
    if connection.vendor == "sqlite":  # PostgreSQL plans by statistics, which a test table has not
        with connection.cursor() as cursor:
            key = ["triage", "payments", "k"]
            cursor.execute(f"EXPLAIN QUERY PLAN {dedup._TWINS}", [*key, *key, "2026-01-01"])
            plan = str(cursor.fetchall())
        assert "run_one_in_flight_per_key (pipeline_name=? AND team=? AND dedup_key=?)" in plan
        assert "run_dedup_window (pipeline_name=? AND team=? AND dedup_key=? AND completed_at>?)" in plan


def test_dedup_can_be_switched_off():
    pipeline(trigger={"dedup": {"enabled": False}})
    assert post(keyed()).run_id != post(keyed()).run_id
    assert set(Run.objects.values_list("dedup_key", flat=True)) == {""}


def test_a_resolve_is_no_duplicate_of_its_firing():
    pipeline(trigger={"match": {"severity": "critical"}})
    firing = post(alert(), source="alertmanager")
    resolved = post(alert(status="resolved"), source="alertmanager")
    assert resolved.status == "accepted"
    assert post(alert(), source="alertmanager").run_id == firing.run_id


def test_teams_and_pipelines_do_not_share_keys():
    pipeline()
    pipeline("other")
    ids = {
        post(keyed()).run_id,
        post(keyed(), team="search").run_id,
        post({"pipeline": "other", "idempotency_key": "k"}).run_id,
    }
    assert len(ids) == 3


def test_long_keys_fit_the_index_and_stay_apart():
    pipeline()
    first = post(keyed("x" * 10_000 + "1"))
    assert post(keyed("x" * 10_000 + "2")).status == "accepted"
    assert post(keyed("x" * 10_000 + "1")).run_id == first.run_id
    assert len(Run.objects.get(id=first.run_id).dedup_key) < dedup.KEY_CHARS


def test_duplicate_costs_no_write(django_assert_num_queries):
    pipeline()
    post(keyed())
    with django_assert_num_queries(2):  # the pipeline, the twin
        post(keyed())


def test_accept_is_few_queries(django_assert_max_num_queries):
    pipeline()
    post()
    # The pipeline, savepoint, run, event, release (the backlog was counted a moment ago).
    with django_assert_max_num_queries(5):
        post()


@on_commit
def test_five_equal_posts_at_once_are_one_run(published):
    pipeline()
    answers = at_once(5, lambda _: post(keyed()))
    assert len({answer.run_id for answer in answers}) == 1
    assert sorted(answer.status for answer in answers) == ["accepted"] + ["deduplicated"] * 4
    assert Run.objects.count() == 1
    assert RunEvent.objects.count() == 1
    assert len(published) == 1


@on_commit
def test_five_equal_posts_at_once_are_one_run_though_it_ends_at_once(monkeypatch):
    """Each accepted run has ended before the next post can see it in flight."""
    pipeline()
    monkeypatch.setattr("runs.engine.publish._send", lambda works, *_, **__: end(works[0].id))
    answers = at_once(5, lambda _: post(keyed()))
    assert len({answer.run_id for answer in answers}) == 1
    assert Run.objects.count() == 1


@on_commit
def test_different_posts_at_once_are_all_stored():
    pipeline()
    answers = at_once(8, lambda number: post(keyed(f"k{number}")))
    assert {answer.status for answer in answers} == {"accepted"}
    assert Run.objects.count() == 8


def blind_once(monkeypatch, when_blind):
    """The first look for a twin sees nothing; ``when_blind`` then does what a rival would."""
    look = dedup.twin_of
    calls = []

    def twin_of(run, **kwargs):
        calls.append(run)
        if len(calls) == 1:
            when_blind()
            return None
        return look(run, **kwargs)

    monkeypatch.setattr(accepting.dedup, "twin_of", twin_of)


@on_commit
def test_rival_in_flight_between_look_and_insert(monkeypatch):
    pipeline()
    rival = []
    blind_once(monkeypatch, lambda: rival.append(post(keyed())))
    answer = post(keyed())
    assert (answer.status, answer.run_id) == ("deduplicated", rival[0].run_id)
    assert Run.objects.count() == 1


@on_commit
def test_rival_ended_between_look_and_insert(monkeypatch, published):
    pipeline()
    rival = []

    def come_and_end():
        rival.append(post(keyed()))
        end(rival[0].run_id)

    blind_once(monkeypatch, come_and_end)
    answer = post(keyed())
    assert (answer.status, answer.run_id) == ("deduplicated", rival[0].run_id)
    assert Run.objects.count() == 1
    assert published == [Work("run", rival[0].run_id)]


@on_commit
def test_rival_escalated_after_it_won_the_race(monkeypatch):
    """The insert is refused, but when we look the rival waits for a person: then ours may start."""
    pipeline()
    rival = post(keyed())
    looks = []

    def twin_of(run, **kwargs):
        looks.append(run)
        if len(looks) == 2:
            Run.objects.filter(id=rival.run_id).update(status=RunStatus.ESCALATED)

    monkeypatch.setattr(accepting.dedup, "twin_of", twin_of)
    answer = post(keyed())
    assert answer.status == "accepted"
    assert answer.run_id != rival.run_id


def at_once(count, call):
    """Call it in ``count`` threads that start together; the answers. An exception in one fails the test."""
    barrier = threading.Barrier(count)
    answers, errors = [], []

    def work(number):
        try:
            barrier.wait(10)
            answers.append(call(number))
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not errors, errors
    close_old_connections()
    return answers
