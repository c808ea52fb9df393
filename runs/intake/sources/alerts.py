"""The shape Alertmanager (webhook version 4) and Grafana (version 1) share: a group of alerts."""

from collections.abc import Mapping, Sequence
from typing import Any

from runs.intake import fields
from runs.intake.incoming import Incoming
from runs.intake.refusals import BadPayload

STATUSES = ("firing", "resolved")
_TIMES = ("startsAt", "endsAt", "generatorURL")


def read(payload: Mapping[str, Any], *, source: str, summary: str = "") -> Incoming:
    """``summary`` is used where the alerts carry none of their own."""
    alerts = [_alert(alert, f"alerts.{index}.") for index, alert in enumerate(fields.objects(payload, "alerts"))]
    status = _status(payload) or _worst(alerts)
    labels = _shared(alerts, "labels") | fields.texts(payload, "commonLabels")
    annotations = _shared(alerts, "annotations") | fields.texts(payload, "commonAnnotations")
    context = {
        "summary": _summary(annotations, labels, alerts) or summary,
        "severity": labels.get("severity") or _first(alerts, "severity"),
        "labels": labels,
        "metadata": _metadata(payload, alerts, annotations),
        "event": status,
        "status": status,
        "source": source,
        "alerts": alerts,
    }
    return Incoming(
        context=context,
        payload=payload,
        pipeline=labels.get("pipeline", "").strip(),
        dedup_key=_dedup_key(payload, alerts, status),
    )


def _alert(alert: Mapping[str, Any], at: str) -> dict[str, Any]:
    return {
        "status": _status(alert, at),
        "labels": fields.texts(alert, "labels", at=at),
        "annotations": fields.texts(alert, "annotations", at=at),
        "fingerprint": fields.text(alert, "fingerprint", at=at),
        **{name: fields.text(alert, name, at=at) for name in _TIMES},
    }


def _status(payload: Mapping[str, Any], at: str = "") -> str:
    status = fields.text(payload, "status", at=at).lower()
    if status and status not in STATUSES:
        raise BadPayload(f"{at}status", "must be firing or resolved", allowed=STATUSES)
    return status


def _worst(alerts: Sequence[Mapping[str, Any]]) -> str:
    """A group without a status of its own fires while any of its alerts does."""
    return "resolved" if all(alert["status"] == "resolved" for alert in alerts) else "firing"


def _shared(alerts: Sequence[Mapping[str, Any]], name: str) -> dict[str, str]:
    """What every alert of the group says alike."""
    first, *others = [alert[name] for alert in alerts]
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}


def _first(alerts: Sequence[Mapping[str, Any]], label: str) -> str:
    return next((alert["labels"][label] for alert in alerts if label in alert["labels"]), "")


def _summary(annotations: Mapping[str, str], labels: Mapping[str, str], alerts: Sequence[Mapping[str, Any]]) -> str:
    own = annotations.get("summary") or annotations.get("description") or annotations.get("message")
    return own or alerts[0]["annotations"].get("summary") or labels.get("alertname") or _first(alerts, "alertname")


def _metadata(
    payload: Mapping[str, Any], alerts: Sequence[Mapping[str, Any]], annotations: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "annotations": annotations,
        "group_key": fields.text(payload, "groupKey"),
        "group_labels": fields.texts(payload, "groupLabels"),
        "receiver": fields.text(payload, "receiver"),
        "external_url": fields.text(payload, "externalURL"),
        "fingerprints": [alert["fingerprint"] for alert in alerts if alert["fingerprint"]],
        "starts_at": alerts[0]["startsAt"],
        "alert_count": len(alerts),
    }


def _dedup_key(payload: Mapping[str, Any], alerts: Sequence[Mapping[str, Any]], status: str) -> str:
    """One alert is known by its fingerprint, a group of several by its key; the status keeps a resolve apart."""
    group = fields.text(payload, "groupKey")
    fingerprints = "+".join(sorted(alert["fingerprint"] for alert in alerts if alert["fingerprint"]))
    known_by = (fingerprints or group) if len(alerts) == 1 else (group or fingerprints)
    return f"{known_by}:{status}" if known_by else ""
