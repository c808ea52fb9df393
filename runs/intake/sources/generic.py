"""The service's own format: ``{pipeline, event, source, summary, idempotency_key, data}``.

``severity``, ``labels`` and ``metadata`` may be given too, and any further field is kept in the
context under its own name, where a pipeline's ``context_template.include`` finds it.
"""

from collections.abc import Mapping
from typing import Any

from runs.intake import fields
from runs.intake.incoming import Incoming

_NOT_CONTEXT = ("pipeline", "idempotency_key")


def read(payload: Mapping[str, Any]) -> Incoming:
    return read_for(fields.text(payload, "pipeline", required=True), payload, source="generic")


def read_for(pipeline: str, payload: Mapping[str, Any], *, source: str) -> Incoming:
    """The same for a pipeline that is known already (a button, the API, a command)."""
    labels = fields.texts(payload, "labels")
    context = {name: value for name, value in payload.items() if name not in _NOT_CONTEXT}
    context |= {
        "summary": fields.text(payload, "summary"),
        "severity": fields.text(payload, "severity") or labels.get("severity", ""),
        "labels": labels,
        "metadata": fields.mapping(payload, "metadata"),
        "event": fields.text(payload, "event"),
        "source": fields.text(payload, "source") or source,
        "data": payload.get("data"),
    }
    return Incoming(
        context=context,
        payload=payload,
        pipeline=pipeline.strip(),
        dedup_key=fields.text(payload, "idempotency_key"),
    )
