"""What the engine knows of a run while it carries it on: loaded once per task, then kept up to date in memory."""

import uuid
from dataclasses import dataclass, field
from typing import Any

from runs import rows
from runs.engine import flow
from runs.models import Run, RunStatus, Step
from runs.pipelines import definitions, registry, schema

_SEEN = (
    "name",
    "branch",
    "executor",
    "status",
    "parsed_output",
    "revised_output",
    "combined_trust",
    "effective_confidence",
)


@dataclass
class RunState:
    """What the run has come to.

    ``outputs``: name -> what later templates see of it, a list for a group. ``statuses``: name -> status,
    of steps and groups, not of branches.
    """

    run: Run
    pipeline: schema.Pipeline
    outputs: dict[str, Any] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)

    def next(self) -> flow.Next:
        entries = self.pipeline.entries
        return flow.next_of(
            [entry.name for entry in entries],
            self.statuses,
            frozenset(entry.name for entry in entries if definitions.goes_on_after_failure(entry)),
        )

    def remember(self, step: Step) -> None:
        """Take in a step, a group or a branch as it now stands; the branches of a group in their order."""
        if step.branch is None:
            self.statuses[step.name] = step.status
        if step.status in flow.UNFINISHED:
            return
        if step.executor in definitions.GROUPS:
            self.outputs.setdefault(step.name, [])
            return
        answer = step.parsed_output if step.revised_output is None else step.revised_output
        output = {
            **(answer or {}),
            "status": step.status,
            "trust": step.combined_trust,
            "confidence": step.effective_confidence,
        }
        self.outputs[step.name] = output
        if step.branch is not None:
            self.outputs.setdefault(definitions.group_of(step.name), []).append(output)


def load(run_id: uuid.UUID, *, before: int | None = None) -> RunState | None:
    """The run with the steps it has begun, in one query or two; None when there is no such run.

    ``before`` leaves out what stands at that place in the pipeline and after it: a branch does not see its siblings.
    """
    run = rows.one(Run, {"id": run_id}, without=("payload",))
    if run is None:
        return None
    state = RunState(run, registry.parsed(run.version_id))
    if run.status == RunStatus.QUEUED and not run.rerun_from:
        return state  # it has no steps yet; a rerun has those it took over
    steps = Step.objects.filter(run_id=run_id)
    if before is not None:
        steps = steps.filter(index__lt=before)
    for step in steps.only(*_SEEN).order_by("index", "branch", "id"):
        state.remember(step)
    return state
