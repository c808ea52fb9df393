"""Prometheus Alertmanager's webhook, version 4."""

from collections.abc import Mapping
from typing import Any

from runs.intake.incoming import Incoming
from runs.intake.sources import alerts


def read(payload: Mapping[str, Any]) -> Incoming:
    return alerts.read(payload, source="alertmanager")
