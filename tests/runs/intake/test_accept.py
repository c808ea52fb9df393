import uuid
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import IntegrityError

from runs import events
from runs.engine.work import Work
from runs.intake import backlog
from runs.intake.accept import start
from runs.intake.refusals import BacklogFull, BadPayload, UnknownPipeline
from runs.models import Run, RunEvent, RunStatus
from tests.runs.intake_factories import NOW, alert, keyed, pipeline, post

on_commit = pytest.mark.django_db(transaction=True)
pytestmark = pytest.mark.django_db


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
    event = events.event
    monkeypatch.setattr(events, "event", lambda *args, **fields: event(*args, **{**fields, "now": None}))
    with pytest.raises(IntegrityError, match=r"(?i)null"):
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


def test_of_several_testing_pipelines_the_first_by_file_name_is_the_one_that_was_skipped():
    match = {"match": {"alertname": "HighErrorRate"}}
    pipeline("first-try", file="a.yaml", stage="testing", trigger=match)
    pipeline("second-try", file="b.yaml", stage="testing", trigger=match)
    assert post(alert(), source="alertmanager").pipeline == "first-try"


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


# The backlog ---------------------------------------------------------------------------------


def test_full_backlog_refuses_but_still_answers_duplicates(service):
    service(limits={"backlog": 2})
    pipeline()
    first = post(keyed("1"))
    post(keyed("2"))
    with pytest.raises(BacklogFull) as refused:
        post(keyed("3"))
    assert refused.value.retry_after > 0
    assert post(keyed("1")).run_id == first.run_id
    assert Run.objects.count() == 2


def test_running_runs_are_no_backlog(service):
    service(limits={"backlog": 1})
    pipeline()
    post()
    Run.objects.update(status=RunStatus.RUNNING)
    backlog.forget()
    assert post().status == "accepted"


def test_backlog_is_counted_once_a_second(service, monkeypatch, django_assert_num_queries):
    service(limits={"backlog": 3})
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


def test_a_source_longer_than_an_index_takes_is_cut_and_stays_whole_in_the_context():
    pipeline()
    source = "".join(f"{number:x}." for number in range(3_000))
    answer = start(pipeline="triage", payload={"source": source}, team="", source="ui", started_by="vera", now=NOW)
    run = Run.objects.get(id=answer.run_id)
    assert len(run.source.encode()) <= 200
    assert run.context["source"] == source
