"""Rows for messages that leave the house, written in the transaction of what they tell about.

Nothing is rendered or sent here: that is for a worker, afterwards (``runs.deliveries``), so that no slow template or
receiver holds up a run, and no message tells of what was rolled back.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from calibration.statements import Statement
from runs import rows
from runs.models import Delivery, DeliveryEvent, Step, StepStatus
from runs.pipelines import definitions, schema
from runs.storable import storable_reason

_OF_END = {"aborted": DeliveryEvent.ABORT, "stopped": DeliveryEvent.STOP}


def escalated(
    pipeline: schema.Pipeline, *, run_id: uuid.UUID, step_name: str, reason: str, now: datetime
) -> list[Statement]:
    """What tells people that a step waits for them."""
    return _notices(pipeline, DeliveryEvent.ESCALATE, run_id=run_id, step_name=step_name, reason=reason, now=now)


def ended(
    pipeline: schema.Pipeline,
    status: str,
    *,
    run_id: uuid.UUID,
    index: int | None,
    outputs: Mapping[str, Any],
    reason: str,
    now: datetime,
) -> list[Statement]:
    """What tells of a run that was aborted or stopped by the step at ``index``; nothing for other ends."""
    event = _OF_END.get(status)
    if event is None or index is None:
        return []
    entry = pipeline.entries[index]
    if event == DeliveryEvent.ABORT and _is_silent(entry, outputs):
        return []
    return _notices(pipeline, event, run_id=run_id, step_name=entry.name, reason=reason, now=now)


def sent(pipeline: schema.Pipeline, step: Step, *, now: datetime) -> list[Statement]:
    """What tells of a ``notify`` step that has done its work."""
    if step.executor != "notify" or step.status != StepStatus.COMPLETED:
        return []
    reason = f"{step.name} was reached."
    return _notices(pipeline, DeliveryEvent.NOTIFY, run_id=step.run_id, step_name=step.name, reason=reason, now=now)


def failed(pipeline: schema.Pipeline, step: Step, *, now: datetime) -> list[Statement]:
    """What the step's ``on_failure.webhook`` asks for when it has failed. A fan-out's is about the group."""
    if step.status != StepStatus.FAILED or not calls_on_failure(pipeline, step):
        return []
    delivery = _row(
        DeliveryEvent.FAILURE, 0, "webhook", run_id=step.run_id, step_name=step.name, reason=step.error, now=now
    )
    return rows.insertion([delivery])


def calls_on_failure(pipeline: schema.Pipeline, step: Step) -> bool:
    """Whether a failure of the step is told by a webhook of its own."""
    entry = pipeline.entries[step.index]
    if isinstance(entry, schema.Parallel):
        return step.branch is not None and entry.steps[step.branch].on_failure.webhook is not None
    return step.branch is None and entry.on_failure.webhook is not None


def _is_silent(entry: schema.Step | schema.Group, outputs: Mapping[str, Any]) -> bool:
    """Of a parallel group also when each branch that was aborted asks for silence."""
    if entry.on_abort == "silent":
        return True
    if not isinstance(entry, schema.Parallel):
        return False
    aborted = [one for one in entry.steps if _status(outputs, f"{entry.name}/{one.name}") == "aborted"]
    return bool(aborted) and all(one.on_abort == "silent" for one in aborted)


def _status(outputs: Mapping[str, Any], name: str) -> Any:
    return (outputs.get(name) or {}).get("status")


def _notices(pipeline: schema.Pipeline, event: DeliveryEvent, **told: Any) -> list[Statement]:
    wanted = definitions.notifications_of(pipeline, event)
    return rows.insertion([_row(event, place, one.channel, **told) for place, one in enumerate(wanted)])


def _row(
    event: DeliveryEvent, position: int, channel: str, *, run_id: uuid.UUID, step_name: str, reason: str, now: datetime
) -> Delivery:
    return Delivery(
        run_id=run_id,
        step_name=step_name,
        event=event,
        position=position,
        channel=channel,
        reason=storable_reason(reason),
        created_at=now,
        due_at=now,
        wake_at=now,
    )
