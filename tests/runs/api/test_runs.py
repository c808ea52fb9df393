import itertools
import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs import events
from runs.ids import first_at
from runs.models import Role, Run, RunStatus, Signal, Step
from tests.runs.intake_factories import NOW, bearer, pipeline

pytestmark = pytest.mark.django_db

RUN_FIELDS = {"id", "pipeline_name", "status", "stage", "team", "source", "triggered_at", "completed_at", "steps"}
STEP_FIELDS = {
    "step_name",
    "status",
    "executor",
    "agent",
    "model",
    "provider",
    "prompt_hash",
    "agent_version",
    "primary_confidence",
    "verifier_confidence",
    "effective_confidence",
    "grounding_score",
    "deterministic_passed",
    "combined_trust",
    "confidence_threshold",
    "parsed_output",
    "duration_ms",
    "tokens",
    "trust_report",
}


@pytest.fixture
def version():
    return pipeline()


@pytest.fixture
def viewer(client):
    return Client(headers=bearer(Role.VIEWER))


@pytest.fixture
def operator(client):
    return Client(headers=bearer(Role.OPERATOR))


_made = itertools.count()


def make_run(version, *, triggered_at=NOW, id_at=None, **fields) -> Run:
    """A run whose id was made when it was triggered, as that of a real one; later ones have higher ids."""
    given = {"team": "payments", "source": "generic", "stage": "production", "context": {}}
    id_ = uuid.UUID(int=first_at(id_at or triggered_at).int + next(_made))
    return Run.objects.create(
        id=id_, version=version, pipeline_name=version.name, triggered_at=triggered_at, **{**given, **fields}
    )


def ids(answer) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [run["id"] for run in answer.json()["runs"]]


def test_newest_first_in_pages_without_gaps_or_repeats(viewer, version):
    made = [str(make_run(version).id) for _ in range(7)]
    seen, after = [], ""
    while True:
        page = viewer.get(f"/runs?limit=3{after}")
        seen += ids(page)
        if page.json()["next"] is None:
            break
        after = f"&after={page.json()['next']}"
    assert seen == sorted(made, reverse=True)


def test_last_full_page_has_no_next(viewer, version):
    for _ in range(3):
        make_run(version)
    assert viewer.get("/runs?limit=3").json()["next"] is None


def test_several_statuses_are_one_list_in_pages(viewer, version):
    statuses = [RunStatus.FAILED, RunStatus.ESCALATED, RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.ESCALATED]
    made = [str(make_run(version, status=status).id) for status in statuses]
    wanted = sorted([made[0], made[1], made[3], made[4]], reverse=True)
    first = viewer.get("/runs?status=failed,escalated,failed&limit=3")
    assert (ids(first), first.json()["next"]) == (wanted[:3], wanted[2])
    second = viewer.get(f"/runs?status=failed,escalated,failed&limit=3&after={wanted[2]}")
    assert (ids(second), second.json()["next"]) == (wanted[3:], None)


def test_filters(viewer, version):
    other = pipeline("refunds")
    plain = make_run(version)
    failed = make_run(version, status=RunStatus.FAILED)
    escalated = make_run(version, status=RunStatus.ESCALATED, stage="testing")
    search = make_run(other, team="search", source="grafana", triggered_at=NOW + timedelta(hours=1))

    def found(query):
        return set(ids(viewer.get(f"/runs?{query}")))

    assert found("status=failed") == {str(failed.id)}
    assert found("status=failed,escalated") == {str(failed.id), str(escalated.id)}
    assert found("status=failed&status=escalated") == {str(failed.id), str(escalated.id)}
    assert found("stage=testing") == {str(escalated.id)}
    assert found("pipeline=refunds") == {str(search.id)}
    assert found("team=search") == {str(search.id)}
    assert found("source=grafana&status=queued") == {str(search.id)}
    assert found("since=2026-03-01T13:00:00Z") == {str(search.id)}
    assert found("since=2026-03-01T14:00:00%2B01:00&until=2026-03-01T13:00:01Z") == {str(search.id)}
    assert found("since=2026-03-01T14:00:00+01:00") == {str(search.id)}
    assert found("until=2026-03-01T13:00:00&status=queued") == {str(plain.id)}
    assert found("pipeline=nothing") == set()


def test_until_does_not_walk_through_the_runs_since(viewer, version):
    make_run(version, triggered_at=NOW + timedelta(hours=2))
    long_ago = make_run(version)
    newest = make_run(version, triggered_at=NOW + timedelta(hours=1))
    with CaptureQueriesContext(connection) as queries:
        assert ids(viewer.get("/runs?until=2026-03-01T12:00:01Z")) == [str(long_ago.id)]
    assert any('"runs_run"."id" < ' in query["sql"] for query in queries)
    # The cursor of a page before still counts where it lies lower.
    assert ids(viewer.get(f"/runs?until=9999-12-31T23:59:59Z&after={newest.id}")) == [str(long_ago.id)]
    assert ids(viewer.get(f"/runs?until=2026-03-01T12:00:01Z&after={newest.id}")) == [str(long_ago.id)]


def test_until_finds_a_run_whose_id_was_made_a_moment_later(viewer, version):
    run = make_run(version, id_at=NOW + timedelta(seconds=59))
    assert ids(viewer.get("/runs?until=2026-03-01T12:00:01Z")) == [str(run.id)]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=done", "status"),
        ("status=", "status"),
        ("status=failed,", "status"),
        ("stage=prod", "stage"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=ten", "limit"),
        ("limit=-1", "limit"),
        ("limit=1.5", "limit"),
        ("limit=%D9%A3", "limit"),
        ("limit=" + "9" * 5000, "limit"),
        ("after=x", "after"),
        ("after=", "after"),
        ("since=yesterday", "since"),
        ("since=2026-02-30T00:00:00Z", "since"),
        ("until=0001-01-01T00:00:00%2B14:00", "until"),
        ("pipeline=", "pipeline"),
        ("team=%00", "team"),
        ("statsu=failed", "statsu"),
    ],
)
def test_bad_parameter_is_named(viewer, query, field):
    answer = viewer.get(f"/runs?{query}")
    assert answer.status_code == 400
    assert answer.json()["field"] == field


def test_bad_choice_lists_the_allowed(viewer):
    assert viewer.get("/runs?status=done").json()["allowed"] == RunStatus.values
    assert viewer.get("/runs?stage=x").json()["allowed"] == ["testing", "production"]


@pytest.mark.parametrize("count", [1, 30])
def test_list_is_one_query(viewer, version, count, django_assert_num_queries):
    for _ in range(count):
        make_run(version)
    viewer.get("/runs")  # the token is remembered
    with django_assert_num_queries(1):
        viewer.get("/runs")


# One run --------------------------------------------------------------------------------------


def test_run_of_unknowns_is_null_not_zero(viewer, version):
    run = make_run(version, team="")
    Step.objects.create(run=run, name="look", index=0, executor="command", created_at=NOW)
    body = viewer.get(f"/runs/{run.id}").json()
    step = body["steps"][0]
    assert body.keys() >= RUN_FIELDS
    assert step.keys() >= STEP_FIELDS
    known = {"step_name": "look", "status": "pending", "executor": "command"}
    assert {name: step[name] for name in STEP_FIELDS} == {name: known.get(name) for name in STEP_FIELDS}
    assert (body["team"], body["completed_at"], body["reason"]) == (None, None, None)


def test_run_with_everything(viewer, version):
    run = make_run(version, status=RunStatus.ESCALATED, reason="Trust 0.5 is below 0.75.", context={"summary": "s"})
    report = {"version": 1, "combined_trust": 0.5, "stages": []}
    step = Step.objects.create(
        run=run,
        name="look",
        index=0,
        executor="command",
        agent="command:look",
        status="escalated",
        primary_confidence=0.95,
        verifier_confidence=0.0,
        effective_confidence=0.95,
        grounding_score=0.5,
        deterministic_passed=False,
        combined_trust=0.5,
        confidence_threshold=0.75,
        parsed_output={"confidence": 0.95, "nested": {"a": [1]}},
        trust_report=report,
        input_tokens=0,
        duration_ms=12,
        created_at=NOW,
    )
    Signal.objects.create(step=step, kind="check", position=1, name="b", state="done", passed=False, error="exit 1")
    Signal.objects.create(step=step, kind="check", position=0, name="a", state="done", passed=True)
    Signal.objects.create(step=step, kind="verifier", state="failed", error="no answer", detail={"mode": "critic"})
    body = viewer.get(f"/runs/{run.id}").json()
    seen = body["steps"][0]
    assert (body["status"], body["context"], body["pipeline_version"]) == (
        "escalated",
        {"summary": "s"},
        version.digest,
    )
    assert (seen["verifier_confidence"], seen["deterministic_passed"]) == (0.0, False)
    assert seen["tokens"] == {"input": 0, "output": None}
    assert seen["trust_report"] == report
    assert seen["parsed_output"] == {"confidence": 0.95, "nested": {"a": [1]}}
    assert [(signal["kind"], signal["name"], signal["passed"]) for signal in seen["signals"]] == [
        ("check", "a", True),
        ("check", "b", False),
        ("verifier", None, None),
    ]
    assert seen["signals"][2]["error"] == "no answer"
    assert seen["signals"][2]["score"] is None


def test_costs_are_exact_texts_and_say_what_they_leave_out(viewer, version):
    run = make_run(version, tokens=330, steps_untold=1, cost_nanos=12_400_000_001, steps_unpriced=2)
    step = {"run": run, "executor": "command", "created_at": NOW}
    Step.objects.create(name="a", index=0, cost_nanos=12_400_000_001, **step)
    Step.objects.create(name="b", index=1, **step)
    Step.objects.create(name="c", index=2, cost_nanos=0, **step)
    told = {"tokens": 330, "steps_untold": 1, "cost_usd": "12.400000001", "steps_unpriced": 2}
    body = viewer.get(f"/runs/{run.id}").json()
    assert {name: body[name] for name in told} == told
    assert [one["cost_usd"] for one in body["steps"]] == ["12.400000001", None, "0"]
    [listed] = viewer.get("/runs").json()["runs"]
    assert {name: listed[name] for name in told} == told


@pytest.mark.parametrize("count", [1, 12])
def test_run_is_three_queries(viewer, version, count, django_assert_num_queries):
    run = make_run(version)
    for index in range(count):
        step = Step.objects.create(run=run, name=f"s{index}", index=index, executor="command", created_at=NOW)
        Signal.objects.create(step=step, kind="check", state="done", passed=True)
    viewer.get(f"/runs/{run.id}")
    with django_assert_num_queries(3):
        answer = viewer.get(f"/runs/{run.id}")
    assert [step["step_name"] for step in answer.json()["steps"]] == [f"s{index}" for index in range(count)]


NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize("url", [f"/runs/{NOBODY}", f"/runs/{NOBODY}/events", "/runs/17", "/runs/", "/nothing"])
def test_unknown_is_json_404(viewer, url):
    answer = viewer.get(url)
    assert answer.status_code == 404
    assert answer.json()["error"]


def test_wrong_method_is_json_405(operator):
    answer = operator.delete("/runs")
    assert answer.status_code == 405
    assert answer.json()["error"]


# Events ---------------------------------------------------------------------------------------


def test_events_are_followed_with_a_cursor(viewer, version):
    run = make_run(version)
    other = make_run(version)
    for number in range(3):
        events.log(run.id, "step.answered", f"m{number}", now=NOW, step_name="look", data={"n": number})
        events.log(other.id, "step.answered", "not ours", now=NOW)
    first = viewer.get(f"/runs/{run.id}/events?limit=2").json()
    assert [event["message"] for event in first["events"]] == ["m0", "m1"]
    assert first["events"][1]["data"] == {"n": 1}
    assert first["status"] == "queued"
    second = viewer.get(f"/runs/{run.id}/events?after={first['next']}").json()
    assert [event["message"] for event in second["events"]] == ["m2"]
    third = viewer.get(f"/runs/{run.id}/events?after={second['next']}").json()
    assert (third["events"], third["next"]) == ([], second["next"])


@pytest.mark.parametrize("query", ["after=-1", "after=x", f"after={2**63}", "limit=0", "limit=2001", "since=1"])
def test_bad_event_parameter(viewer, version, query):
    assert viewer.get(f"/runs/{make_run(version).id}/events?{query}").status_code == 400


# Cancel ---------------------------------------------------------------------------------------


def test_cancel(operator, version):
    run = make_run(version)
    answer = operator.post(f"/runs/{run.id}/cancel")
    assert (answer.status_code, answer.json()) == (200, {"status": "cancelled", "run_id": str(run.id)})
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
    assert "token vst_" in run.reason


def test_cancel_twice_is_a_conflict(operator, version):
    run = make_run(version, status=RunStatus.COMPLETED)
    answer = operator.post(f"/runs/{run.id}/cancel")
    assert answer.status_code == 409
    assert "completed" in answer.json()["error"]


def test_cancel_of_nothing(operator):
    assert operator.post(f"/runs/{NOBODY}/cancel").status_code == 404


@pytest.mark.parametrize(
    ("method", "url", "least"),
    [
        ("get", "/runs", Role.VIEWER),
        ("get", "/runs/{run}", Role.VIEWER),
        ("get", "/runs/{run}/events", Role.VIEWER),
        ("post", "/runs/{run}/cancel", Role.OPERATOR),
        ("get", "/schema/", Role.VIEWER),
    ],
)
@pytest.mark.parametrize("role", list(Role))
def test_roles(version, method, url, least, role):
    client, run = Client(), make_run(version)
    answer = getattr(client, method)(url.format(run=run.id), headers=bearer(role))
    assert answer.status_code == (200 if role >= least else 403)
    if role < least:
        assert least.label in answer.json()["error"]
        assert role.label in answer.json()["error"]
