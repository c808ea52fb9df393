"""Rows for the log of a run. Callers write them in the transaction of what they tell about."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from runs import rows
from runs.models import RunEvent
from runs.storable import storable, storable_reason


def event(
    run_id: uuid.UUID,
    kind: str,
    message: str,
    *,
    now: datetime,
    step_name: str = "",
    level: str = RunEvent.Level.INFO,
    data: Mapping[str, Any] | None = None,
) -> RunEvent:
    """An unsaved row: ``kind`` is a dotted name such as ``step.started``, ``message`` what a person reads."""
    return RunEvent(
        run_id=run_id,
        kind=kind,
        message=storable_reason(message),
        at=now,
        step_name=step_name,
        level=level,
        data=storable(data) if data else {},
    )


def log(run_id: uuid.UUID, kind: str, message: str, *, now: datetime, **fields: Any) -> None:
    """Write one event at once."""
    rows.insert([event(run_id, kind, message, now=now, **fields)])
