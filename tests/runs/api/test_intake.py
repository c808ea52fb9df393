import json

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runs.access import tokens
from runs.intake import backlog
from runs.models import Pipeline, Role, Run, RunStatus
from tests.runs.intake.test_sources import ALERT_KEYS, ANY_JSON, GENERIC_KEYS
from tests.runs.intake_factories import NOW, alert, bearer, pipeline

pytestmark = pytest.mark.django_db
ALLOWED_SOURCES = ["generic", "alertmanager", "grafana"]


def post(client, url="/webhook", payload=None, headers=None, **kwargs):
    body = payload if isinstance(payload, bytes) else json.dumps(payload if payload is not None else {})
    return client.post(
        url, body, content_type="application/json", headers=bearer() if headers is None else headers, **kwargs
    )


def test_accepted(client):
    pipeline()
    answer = post(client, payload={"pipeline": "triage"})
    run = Run.objects.get()
    assert answer.status_code == 202
    assert answer.json() == {"status": "accepted", "run_id": str(run.id), "pipeline": "triage"}
    assert run.team == "payments"
    assert run.started_by.startswith("token vst_")


def test_team_is_the_tokens_whatever_the_payload_says(client):
    pipeline()
    post(client, payload={"pipeline": "triage", "team": "admins"}, headers=bearer(team="search"))
    assert Run.objects.get().team == "search"


def test_deduplicated(client):
    pipeline()
    headers = bearer()
    first = post(client, payload={"pipeline": "triage", "idempotency_key": "k"}, headers=headers)
    again = post(client, payload={"pipeline": "triage", "idempotency_key": "k"}, headers=headers)
    assert again.status_code == 202
    assert again.json()["status"] == "deduplicated"
    assert again.json()["run_id"] == first.json()["run_id"]
    assert "in flight" in again.json()["reason"]


def test_testing_pipeline(client):
    pipeline(stage="testing")
    skipped = post(client, payload={"pipeline": "triage"})
    assert (skipped.status_code, skipped.json()["status"]) == (202, "skipped_testing")
    assert "run_id" not in skipped.json()
    allowed = post(client, "/webhook?allow_testing=true", {"pipeline": "triage"})
    assert allowed.json()["status"] == "accepted"


@pytest.mark.parametrize("how", ["parameter", "header"])
def test_source(client, how):
    pipeline(trigger={"match": {"severity": "critical"}})
    headers = bearer()
    url = "/webhook"
    if how == "header":
        headers["X-Pipeline-Source"] = "alertmanager"
    else:
        url += "?source=alertmanager"
    assert post(client, url, alert(), headers).json()["status"] == "accepted"
    assert Run.objects.get().source == "alertmanager"


def test_unknown_source(client):
    answer = post(client, "/webhook?source=pagerduty")
    assert answer.status_code == 400
    assert answer.json()["field"] == "source"
    assert answer.json()["allowed"] == ALLOWED_SOURCES


def test_odd_boolean(client):
    pipeline()
    answer = post(client, "/webhook?allow_testing=yes", {"pipeline": "triage"})
    assert (answer.status_code, answer.json()["field"]) == (400, "allow_testing")
    assert not Run.objects.exists()


def test_mistyped_parameter_is_no_default(client):
    pipeline()
    answer = post(client, "/webhook?allow_tests=true", {"pipeline": "triage"})
    assert answer.status_code == 400
    assert (answer.json()["field"], answer.json()["allowed"]) == ("allow_tests", ["source", "allow_testing"])
    assert not Run.objects.exists()


def test_unknown_pipeline(client):
    pipeline("disk-full")
    answer = post(client, payload={"pipeline": "disk-ful"})
    assert answer.status_code == 404
    assert answer.json()["close"] == ["disk-full"]
    assert "disk-full" in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "not JSON"),
        (b"[1]", "must be a JSON object"),
        (b'{"a": NaN}', "NaN"),
        (b"", "not JSON"),
        (b"\xff", "UTF-8"),
    ],
)
def test_broken_body(client, body, says):
    answer = post(client, payload=body)
    assert answer.status_code == 400
    assert says in answer.json()["error"]


def test_wrong_field_is_named(client):
    answer = post(client, "/webhook?source=grafana", alert(alerts=[{"labels": {"a": ["\ud800"]}}]))
    assert answer.status_code == 400
    assert answer.json()["field"] == "alerts.0.labels.a"


def test_name_no_encoding_can_hold_is_answered(client):
    answer = post(client, payload={"pipeline": "\ud800\x00"})
    assert answer.status_code == 404
    assert "\\ud800" in answer.json()["error"]


def test_too_large(client, settings):
    limit = settings.SERVICE.limits.payload_bytes
    pipeline()
    fits = b'{"pipeline": "triage", "data": "' + b"x" * (limit - 34) + b'"}'
    assert len(fits) == limit
    assert post(client, payload=fits).status_code == 202
    answer = post(client, payload=fits + b" ")
    assert answer.status_code == 413
    assert f"{limit:,}" in answer.json()["error"]


def test_backlog_full(client, service):
    service(limits={"backlog": 1})
    pipeline()
    assert post(client, payload={"pipeline": "triage"}).status_code == 202
    refused = post(client, payload={"pipeline": "triage"})
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    Run.objects.update(status=RunStatus.RUNNING)
    backlog.forget()
    assert post(client, payload={"pipeline": "triage"}).status_code == 202


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer nope"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer a b"},
    ],
)
@pytest.mark.parametrize("url", ["/webhook", "/pipelines/triage/run", "/runs"])
def test_no_token_no_entry(client, headers, url):
    pipeline()
    answer = client.get(url, headers=headers) if url == "/runs" else post(client, url, headers=headers)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["error"]
    assert not Run.objects.exists()


def test_revoked_token(client):
    pipeline()
    token, secret = tokens.create(team="t", role=Role.ADMIN, now=NOW)
    tokens.revoke(prefix=token.prefix, now=NOW)
    assert (
        post(client, payload={"pipeline": "triage"}, headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    )


def test_a_session_posts_no_webhooks(admin_client):
    pipeline()
    assert post(admin_client, payload={"pipeline": "triage"}, headers={}).status_code == 401


# POST /pipelines/{name}/run -------------------------------------------------------------------


def test_start_by_name_with_an_intake_token(client):
    pipeline(stage="testing")
    answer = post(client, "/pipelines/triage/run", {"summary": "try"})
    run = Run.objects.get()
    assert answer.status_code == 202
    assert answer.json() == {"status": "accepted", "run_id": str(run.id), "pipeline": "triage"}
    assert (run.team, run.source, run.summary, run.stage) == ("payments", "api", "try", "testing")


def test_start_by_name_needs_no_body(client):
    pipeline()
    assert post(client, "/pipelines/triage/run", b"").status_code == 202


def test_start_by_name_ignores_another_name_in_the_payload(client):
    pipeline()
    pipeline("other")
    assert post(client, "/pipelines/triage/run", {"pipeline": "other"}).json()["pipeline"] == "triage"


def person(group: str) -> User:
    user = User.objects.create_user("vera")
    user.groups.add(Group.objects.get(name=group))
    return user


def test_start_by_name_as_an_operator(client):
    pipeline()
    client.force_login(person("operator"))
    assert post(client, "/pipelines/triage/run", headers={}).status_code == 202
    assert (Run.objects.get().started_by, Run.objects.get().team) == ("vera", "")


def test_start_by_name_as_a_marker_is_refused_though_a_token_of_less_may(client):
    pipeline()
    client.force_login(person("marker"))
    answer = post(client, "/pipelines/triage/run", headers={})
    assert answer.status_code == 403
    assert "operator" in answer.json()["error"]
    assert not Run.objects.exists()


def test_a_session_needs_the_csrf_token():
    pipeline()
    client = Client(enforce_csrf_checks=True)
    client.force_login(person("operator"))
    answer = post(client, "/pipelines/triage/run", headers={})
    assert answer.status_code == 403
    assert "CSRF" in answer.json()["error"]


@pytest.mark.parametrize("name", ["nothing", "%00", "a%2Fb", "%ED%A0%80"])
def test_start_of_an_unknown_pipeline(client, name):
    assert post(client, f"/pipelines/{name}/run").status_code == 404


# Anything at all ------------------------------------------------------------------------------

hostile = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


@hostile
@given(st.binary(max_size=300))
def test_any_bytes_get_an_answer(client, raw):
    assert post(client, payload=raw).status_code == 400


@hostile
@given(
    st.sampled_from(ALLOWED_SOURCES),
    st.dictionaries(st.sampled_from(ALERT_KEYS + GENERIC_KEYS), ANY_JSON),
)
def test_any_json_gets_an_answer(client, source, payload):
    raw = json.dumps(payload).encode()
    assert post(client, f"/webhook?source={source}", raw).status_code in (400, 404)


@hostile
@given(st.dictionaries(st.sampled_from(GENERIC_KEYS), ANY_JSON))
def test_any_payload_for_a_pipeline_is_stored_or_refused(client, payload):
    if not Pipeline.objects.exists():
        pipeline()
    before = Run.objects.count()
    answer = post(client, "/pipelines/triage/run", json.dumps(payload).encode())
    assert answer.status_code in (202, 400)
    stored = Run.objects.count() - before
    assert stored == (answer.status_code == 202 and answer.json()["status"] == "accepted")
