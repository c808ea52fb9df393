"""Fetching the text of an agent version that had not been seen before, beside the run that met it."""

import logging
import uuid

from django.utils import timezone

from calibration import versions
from runs import executors
from runs.engine.state import load
from runs.executors.base import ExecutorError
from runs.models import Step

logger = logging.getLogger(__name__)


def snapshot(step_id: uuid.UUID) -> None:
    """Keep the agent's definition if it still is the version the step ran with, else a note saying why not."""
    row = Step.objects.only("run_id", "index", "agent", "agent_version", "executor").get(id=step_id)
    run = load(row.run_id)
    assert run is not None
    executor, config = executors.get(row.executor), run.pipeline.steps[row.index].executor_config
    note = ""
    try:
        definition = executor.describe(config)
    except ExecutorError as error:
        definition, note = None, f"No text: {error}"
    if definition is None:
        note = note or "No text: this executor has none to tell."
    elif definition.version != row.agent_version:
        note = f"No text: by the time it was asked for, the agent was at version {definition.version}."
        definition = None
    versions.keep_agent_text(
        agent=row.agent,
        version=row.agent_version,
        soul=definition.soul if definition else "",
        config=definition.config if definition else "",
        note=note,
        now=timezone.now(),
    )
