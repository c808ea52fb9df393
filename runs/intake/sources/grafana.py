"""Grafana Alerting's webhook, version 1: Alertmanager's shape with a title and a message on top."""

from collections.abc import Mapping
from typing import Any

from runs.intake import fields
from runs.intake.incoming import Incoming
from runs.intake.sources import alerts


def read(payload: Mapping[str, Any]) -> Incoming:
    return alerts.read(
        payload,
        source="grafana",
        summary=fields.text(payload, "title") or fields.text(payload, "message"),
    )
