"""Pipelines and tokens as tests of the intake need them."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

from runs.access import tokens
from runs.intake import sources
from runs.intake.accept import Accepted, accept
from runs.models import Pipeline, PipelineVersion, Role
from runs.pipelines import schema

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STEP = {"name": "look", "executor": "command", "executor_config": {"command": ["true"]}, "prompt_template": "Look."}


def pipeline(name: str = "triage", *, file: str = "", stage: str = "production", **fields: Any) -> PipelineVersion:
    """A loaded pipeline of one step; ``fields`` are top-level keys of its YAML."""
    config = {"name": name, "stage": stage, "steps": [STEP], **fields}
    schema.Pipeline.model_validate(config)
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
    version = PipelineVersion.objects.create(digest=digest, name=name, config=config, created_at=NOW)
    Pipeline.objects.create(file=file or f"{name}.yaml", name=name, version=version, loaded_at=NOW, changed_at=NOW)
    return version


def bearer(role: Role = Role.INTAKE, team: str = "payments") -> dict[str, str]:
    """Headers of a request with a new token."""
    _, secret = tokens.create(team=team, role=role, now=NOW)
    return {"Authorization": f"Bearer {secret}"}


def alert(**fields: Any) -> dict[str, Any]:
    """An Alertmanager payload with one firing alert; ``fields`` replace top-level keys."""
    labels = {"alertname": "HighErrorRate", "severity": "critical", "service": "checkout"}
    annotations = {"summary": "Errors above 5 %"}
    return {
        "version": "4",
        "status": "firing",
        "groupKey": '{}:{alertname="HighErrorRate"}',
        "receiver": "vectorstep",
        "groupLabels": {"alertname": "HighErrorRate"},
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": "http://alertmanager:9093",
        "alerts": [
            {
                "status": "firing",
                "labels": labels,
                "annotations": annotations,
                "startsAt": "2026-03-01T11:58:00Z",
                "endsAt": "0001-01-01T00:00:00Z",
                "generatorURL": "http://prometheus:9090/graph",
                "fingerprint": "a1b2c3",
            }
        ],
        **fields,
    }


def post(
    payload: dict[str, Any] | None = None,
    *,
    source: str = "generic",
    team: str = "payments",
    allow_testing: bool = False,
    now: datetime = NOW,
) -> Accepted:
    """Accept a payload as the webhook does, without HTTP; by default one for the pipeline triage."""
    incoming = sources.read(source, payload if payload is not None else {"pipeline": "triage"})
    return accept(incoming=incoming, team=team, started_by="token vst_x", allow_testing=allow_testing, now=now)


def keyed(key: str = "k", **fields: Any) -> dict[str, Any]:
    """A payload for the pipeline triage; equal keys are duplicates."""
    return {"pipeline": "triage", "idempotency_key": key, **fields}
