"""Seeing to an agent version's entry in the registry, beside the run that met it."""

import uuid

from django.utils import timezone

from calibration import versions
from runs import executors
from runs.engine.state import load
from runs.executors.base import AgentDefinition, ExecutorError
from runs.models import Step
from runs.pipelines.definitions import definition_of
from runs.storable import storable_text


def snapshot(step_id: uuid.UUID) -> None:
    """Note that the step's agent version is in use; fetch its text when it is new.

    The message may outlive the run, which may have been removed: then there is nothing to note.
    """
    row = (
        Step.objects.only("run_id", "index", "branch", "agent", "agent_version", "executor").filter(id=step_id).first()
    )
    run = load(row.run_id) if row else None
    if row is None or run is None:
        return
    config = definition_of(run.pipeline, index=row.index, branch=row.branch).executor_config

    def fetch() -> AgentDefinition | str:
        try:
            told = executors.get(row.executor).describe(config)
        except ExecutorError as error:
            return storable_text(f"The definition could not be had: {error}")
        if told is None:
            return "This executor tells no definition."
        return AgentDefinition(told.version, soul=storable_text(told.soul), config=storable_text(told.config))

    versions.see_agent(agent=row.agent, version=row.agent_version, fetch=fetch, now=timezone.now())
