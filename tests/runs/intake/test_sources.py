import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runs.intake import sources
from runs.intake.refusals import BadPayload
from tests.runs.intake_factories import alert


def test_generic():
    incoming = sources.read(
        "generic",
        {
            "pipeline": " triage ",
            "event": "ticket.created",
            "source": "zendesk",
            "summary": "Refund asked",
            "idempotency_key": "t-17",
            "data": {"order": 17},
            "labels": {"severity": "low", "attempt": 2, "vip": True},
            "customer": "ACME",
        },
    )
    assert (incoming.pipeline, incoming.dedup_key) == ("triage", "t-17")
    assert incoming.context == {
        "summary": "Refund asked",
        "severity": "low",
        "labels": {"severity": "low", "attempt": "2", "vip": "true"},
        "metadata": {},
        "event": "ticket.created",
        "source": "zendesk",
        "data": {"order": 17},
        "customer": "ACME",
    }


def test_generic_needs_only_a_pipeline():
    incoming = sources.read("generic", {"pipeline": "triage", "summary": None})
    assert (incoming.summary, incoming.source, incoming.dedup_key) == ("", "generic", "")


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({}, "pipeline"),
        ({"pipeline": "  "}, "pipeline"),
        ({"pipeline": 7}, "pipeline"),
        ({"pipeline": "p", "summary": ["x"]}, "summary"),
        ({"pipeline": "p", "idempotency_key": 17}, "idempotency_key"),
        ({"pipeline": "p", "labels": ["x"]}, "labels"),
        ({"pipeline": "p", "labels": {"a": {}}}, "labels.a"),
        ({"pipeline": "p", "labels": {"a": None}}, "labels.a"),
        ({"pipeline": "p", "metadata": "x"}, "metadata"),
        ({"pipeline": "p", "source": False}, "source"),
    ],
)
def test_generic_names_the_wrong_field(payload, field):
    with pytest.raises(BadPayload) as refused:
        sources.read("generic", payload)
    assert refused.value.field == field


def test_alertmanager():
    incoming = sources.read("alertmanager", alert())
    context = incoming.context
    assert (context["summary"], context["severity"], context["event"]) == ("Errors above 5 %", "critical", "firing")
    assert context["labels"]["service"] == "checkout"
    assert context["source"] == "alertmanager"
    assert context["metadata"]["group_key"] == '{}:{alertname="HighErrorRate"}'
    assert context["alerts"][0]["startsAt"] == "2026-03-01T11:58:00Z"
    assert incoming.pipeline == ""


def test_label_pipeline_names_one():
    labels = {"alertname": "X", "pipeline": "disk-full"}
    assert sources.read("alertmanager", alert(commonLabels=labels)).pipeline == "disk-full"


def test_grafana_falls_back_to_its_title():
    payload = alert(title="[FIRING:1] checkout", commonAnnotations={}, commonLabels={})
    payload["alerts"][0] |= {"labels": {}, "annotations": {}}
    incoming = sources.read("grafana", payload)
    assert (incoming.summary, incoming.source, incoming.context["severity"]) == ("[FIRING:1] checkout", "grafana", "")


def test_key_of_one_alert_is_its_fingerprint_and_status():
    firing = sources.read("alertmanager", alert())
    resolved = sources.read("alertmanager", alert(status="resolved"))
    assert firing.dedup_key == "a1b2c3:firing"
    assert resolved.dedup_key == "a1b2c3:resolved"


def test_key_of_several_alerts_is_the_groups():
    one = alert()["alerts"][0]
    many = alert(groupKey="g1", alerts=[one, one | {"fingerprint": "d4"}])
    assert sources.read("alertmanager", many).dedup_key == "g1:firing"
    assert sources.read("alertmanager", many | {"groupKey": ""}).dedup_key == "a1b2c3+d4:firing"


def test_alert_without_fingerprint_uses_the_group_key_and_without_both_none():
    payload = alert()
    del payload["alerts"][0]["fingerprint"]
    assert sources.read("alertmanager", payload | {"groupKey": "g"}).dedup_key == "g:firing"
    assert sources.read("alertmanager", payload | {"groupKey": None}).dedup_key == ""


def test_group_without_a_status_fires_while_any_alert_does():
    one = alert()["alerts"][0]
    mixed = alert(status=None, alerts=[one | {"status": "resolved"}, one])
    gone = alert(status=None, alerts=[one | {"status": "resolved"}])
    assert sources.read("alertmanager", mixed).context["status"] == "firing"
    assert sources.read("alertmanager", gone).context["status"] == "resolved"


def test_only_what_all_alerts_share_is_common():
    one = alert()["alerts"][0]
    other = one | {"labels": {"alertname": "HighErrorRate", "service": "cart"}}
    labels = sources.read("alertmanager", alert(commonLabels=None, alerts=[one, other])).context["labels"]
    assert labels == {"alertname": "HighErrorRate"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"alerts": None}, "alerts"),
        ({"alerts": []}, "alerts"),
        ({"alerts": {}}, "alerts"),
        ({"alerts": ["x"]}, "alerts.0"),
        ({"alerts": [{"labels": []}]}, "alerts.0.labels"),
        ({"alerts": [{"status": "odd"}]}, "alerts.0.status"),
        ({"alerts": [{"startsAt": 5}]}, "alerts.0.startsAt"),
        ({"status": "alerting"}, "status"),
        ({"status": 1}, "status"),
        ({"groupKey": {}}, "groupKey"),
        ({"commonLabels": {"severity": ["x"]}}, "commonLabels.severity"),
        ({"commonAnnotations": 3}, "commonAnnotations"),
        ({"receiver": []}, "receiver"),
    ],
)
def test_alerts_name_the_wrong_field(change, field):
    with pytest.raises(BadPayload) as refused:
        sources.read("alertmanager", alert(**change))
    assert refused.value.field == field


def test_unknown_source_lists_the_known_ones():
    with pytest.raises(BadPayload) as refused:
        sources.read("pagerduty", {})
    assert refused.value.allowed == ["generic", "alertmanager", "grafana"]


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
# How long a busy machine takes to make one up says nothing about the code.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
ALERT_KEYS = ["status", "alerts", "groupKey", "commonLabels", "commonAnnotations", "title", "receiver", "groupLabels"]
GENERIC_KEYS = ["pipeline", "event", "source", "summary", "idempotency_key", "data", "labels", "metadata", "severity"]


@patient
@given(st.sampled_from(list(sources.READERS)), st.dictionaries(st.sampled_from(ALERT_KEYS + GENERIC_KEYS), ANY_JSON))
def test_any_payload_is_read_or_refused(source, payload):
    try:
        incoming = sources.read(source, payload)
    except BadPayload:
        return
    assert all(isinstance(incoming.context[name], str) for name in ("summary", "severity", "event", "source"))
    json.dumps(incoming.context)


@patient
@given(st.sampled_from(ALERT_KEYS), ANY_JSON)
def test_one_odd_field_in_a_good_alert_is_read_or_named(name, value):
    field = name
    try:
        sources.read("grafana", alert(**{name: value}))
    except BadPayload as refused:
        field = refused.field
    assert field.startswith(name)
