"""What the engine knows of a run while it carries it on: loaded once per task, then kept up to date in memory."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs import rows
from runs.engine import flow
from runs.models import Run, RunStatus, Step
from runs.pipelines import registry, schema


@dataclass
class RunState:
    """``outputs``: step name -> what later templates see of it. ``statuses``: step name -> status of its row."""

    run: Run
    pipeline: schema.Pipeline
    outputs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)

    def next(self) -> flow.Next:
        steps = self.pipeline.steps
        return flow.next_of(
            [step.name for step in steps],
            self.statuses,
            frozenset(step.name for step in steps if step.on_failure.policy == "continue"),
        )

    def remember(self, step: Step) -> None:
        """Take in a step as it now stands."""
        self.statuses[step.name] = step.status
        if step.status in flow.UNFINISHED:
            return
        self.outputs[step.name] = {
            **(step.parsed_output or {}),
            "status": step.status,
            "trust": step.combined_trust,
            "confidence": step.effective_confidence,
        }


def load(run_id: uuid.UUID) -> RunState | None:
    """The run with the steps it has begun, in one query or two; None when there is no such run."""
    run = rows.one(Run, {"id": run_id}, without=("payload",))
    if run is None:
        return None
    state = RunState(run, registry.parsed(run.version_id))
    if run.status == RunStatus.QUEUED:
        return state  # it has no steps yet
    steps = Step.objects.filter(run_id=run_id).only(
        "name", "status", "parsed_output", "combined_trust", "effective_confidence"
    )
    for step in steps.order_by("index", "id"):
        state.remember(step)
    return state
