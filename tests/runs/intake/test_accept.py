import threading
import uuid
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import IntegrityError, close_old_connections, connection

from runs import events
from runs.engine.work import Work
from runs.intake import accept as accepting
from runs.intake import backlog, dedup, sources
from runs.intake.accept import accept, start
from runs.intake.refusals import BacklogFull, BadPayload, UnknownPipeline
from runs.models import Run, RunEvent, RunStatus
from tests.runs.intake_factories import NOW, alert, pipeline

on_commit = pytest.mark.django_db(transaction=True)
pytestmark = pytest.mark.django_db


def post(payload=None, *, source="generic", team="payments", allow_testing=False, now=NOW):
    incoming = sources.read(source, payload if payload is not None else {"pipeline": "triage"})
    return accept(incoming=incoming, team=team, started_by="token vst_x", allow_testing=allow_testing, now=now)


def keyed(key="k", **fields):
    return {"pipeline": "triage", "idempotency_key": key, **fields}


def end(run_id, status=RunStatus.COMPLETED, *, at=NOW):
    Run.objects.filter(id=run_id).update(status=status, completed_at=at, wake_at=None)


def limits(settings, **changes):
    settings.SERVICE = settings.SERVICE.model_copy(
        update={"limits": settings.SERVICE.limits.model_copy(update=changes)}
    )


@on_commit
def test_run_is_stored_with_its_event_and_published(published):
    version = pipeline()
    answer = post({"pipeline": "triage", "summary": "Disk full", "data": {"a": 1}})
    run = Run.objects.get(id=answer.run_id)
    assert answer.status == "accepted"
    assert (run.pipeline_name, run.version_id, run.stage) == ("triage", version.digest, "production")
    assert (run.team, run.source, run.started_by) == ("payments", "generic", "token vst_x")
    assert (run.status, run.summary, run.triggered_at) == ("queued", "Disk full", NOW)
    assert run.payload == {"pipeline": "triage", "summary": "Disk full", "data": {"a": 1}}
    assert run.wake_at == NOW + timedelta(seconds=5)
    assert [event.kind for event in RunEvent.objects.filter(run=run)] == ["run.queued"]
    assert published == [Work("run", run.id)]


@on_commit
def test_nothing_is_stored_or_published_when_the_event_cannot_be_written(monkeypatch, published):
    pipeline()

    def fail(*args, **kwargs):
        raise IntegrityError("no room for events")

    monkeypatch.setattr(events, "log", fail)
    with pytest.raises(IntegrityError):
        post()
    assert not Run.objects.exists()
    assert published == []


def test_text_no_database_can_hold_is_stored_escaped():
    pipeline()
    answer = post({"pipeline": "triage", "summary": "a\x00b\ud800", "data": {"\x00": ["\udfff"]}})
    run = Run.objects.get(id=answer.run_id)
    assert run.summary == "a\\u0000b\\ud800"
    assert run.context["data"] == {"\\u0000": ["\\udfff"]}


# Which pipeline ------------------------------------------------------------------------------


def test_unknown_pipeline_tells_close_names():
    pipeline("disk-full")
    pipeline("disk-slow")
    pipeline("refunds")
    with pytest.raises(UnknownPipeline, match="Did you mean disk-full") as refused:
        post({"pipeline": "disk-ful"})
    assert refused.value.close[0] == "disk-full"
    assert "refunds" not in refused.value.close


@pytest.mark.parametrize("name", ["a\x00b", "\ud800", "x" * 100_000])
def test_odd_name_is_unknown(name):
    pipeline()
    with pytest.raises(UnknownPipeline):
        post({"pipeline": name})


def test_first_matching_trigger_by_file_name():
    pipeline("late", file="z.yaml", trigger={"match": {"severity": "critical"}})
    pipeline("early", file="a.yaml", trigger={"match": {"labels.service": "checkout"}})
    pipeline("other", file="0.yaml", trigger={"match": {"severity": "low"}})
    assert post(alert(), source="alertmanager").pipeline == "early"


def test_trigger_may_name_a_label_by_itself():
    pipeline(trigger={"match": {"alertname": "HighErrorRate", "severity": {"in": ["critical", "high"]}}})
    assert post(alert(), source="alertmanager").status == "accepted"


def test_named_by_label_goes_before_triggers():
    pipeline("by-trigger", trigger={"match": {"severity": "critical"}})
    pipeline("by-name")
    payload = alert(commonLabels={"pipeline": "by-name", "severity": "critical"})
    assert post(payload, source="alertmanager").pipeline == "by-name"


def test_no_trigger_matches():
    pipeline()
    with pytest.raises(UnknownPipeline, match="No pipeline's trigger"):
        post(alert(), source="alertmanager")


def test_testing_pipeline_is_skipped_unless_allowed():
    pipeline(stage="testing")
    skipped = post()
    assert (skipped.status, skipped.run_id) == ("skipped_testing", None)
    assert "allow_testing" in skipped.reason
    assert not Run.objects.exists()
    assert post(allow_testing=True).status == "accepted"
    assert Run.objects.get().stage == "testing"


def test_testing_pipeline_does_not_hide_a_production_one():
    match = {"match": {"severity": "critical"}}
    pipeline("a-try", file="a.yaml", stage="testing", trigger=match)
    pipeline("real", file="b.yaml", trigger=match)
    assert post(alert(), source="alertmanager").pipeline == "real"
    assert post(alert(), source="alertmanager", allow_testing=True).pipeline == "a-try"


def test_started_by_name_testing_runs():
    pipeline(stage="testing")
    answer = start(pipeline="triage", payload={"summary": "try"}, team="", source="ui", started_by="vera", now=NOW)
    run = Run.objects.get(id=answer.run_id)
    assert (run.source, run.started_by, run.summary) == ("ui", "vera", "try")


def test_payload_too_deep_to_walk_is_refused():
    pipeline()
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(BadPayload, match="deep"):
        start(pipeline="triage", payload={"data": deep}, team="", source="ui", started_by="vera", now=NOW)


# Duplicates ----------------------------------------------------------------------------------


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
            cursor.execute(f"EXPLAIN QUERY PLAN {dedup._SAME_KEY}", ["triage", "payments", "k", "2026-01-01"])
            plan = cursor.fetchall()
        assert "run_dedup_window (pipeline_name=? AND team=? AND dedup_key=?)" in str(plan)


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
    monkeypatch.setattr("runs.engine.publish._send", lambda works, delay: end(works[0].id))
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


# The backlog ---------------------------------------------------------------------------------


def test_full_backlog_refuses_but_still_answers_duplicates(settings):
    limits(settings, backlog=2)
    pipeline()
    first = post(keyed("1"))
    post(keyed("2"))
    with pytest.raises(BacklogFull) as refused:
        post(keyed("3"))
    assert refused.value.retry_after > 0
    assert post(keyed("1")).run_id == first.run_id
    assert Run.objects.count() == 2


def test_running_runs_are_no_backlog(settings):
    limits(settings, backlog=1)
    pipeline()
    post()
    Run.objects.update(status=RunStatus.RUNNING)
    backlog.forget()
    assert post().status == "accepted"


def test_backlog_is_counted_once_a_second(settings, monkeypatch, django_assert_num_queries):
    limits(settings, backlog=3)
    clock = [100.0]
    monkeypatch.setattr(backlog, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with django_assert_num_queries(1):
        for _ in range(50):
            backlog.check()
    clock[0] += backlog.COUNTED_EVERY
    with django_assert_num_queries(1):
        backlog.check()


def test_run_ids_are_of_stored_runs():
    pipeline()
    assert Run.objects.filter(id=post().run_id).exists()
    assert isinstance(post().run_id, uuid.UUID)
