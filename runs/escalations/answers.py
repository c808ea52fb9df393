"""What each answer to a question would do, and what silence does, in sentences."""

from dataclasses import dataclass

from runs.escalations.consequences import follows
from runs.models import Approval, ApprovalKind, Run
from runs.pipelines import definitions, registry, schema


@dataclass(frozen=True)
class Answers:
    """A sentence for yes, for no and for nobody answering."""

    approve: str
    reject: str
    silence: str


def answers(approval: Approval, run: Run) -> Answers:
    """For an open question with its step; ``run`` comes with its version. No query once the version is known."""
    step = approval.step
    pipeline = registry.parsed(run.version_id)
    definition = definitions.definition_of(pipeline, index=step.index, branch=step.branch)
    if approval.kind == ApprovalKind.CHECK:
        approve, reject, silence = _of_check(approval, definition)
    elif step.branch is not None:
        approve, reject, silence = _of_branch(approval)
    else:
        approve, reject, silence = _of_step(follows(step, run.version.config), definition)
    if approval.due_at is None:
        return Answers(approve, reject, "There is no deadline: it waits until somebody answers.")
    return Answers(approve, reject, f"If nobody answers by then, {silence} Silence is never approval.")


def _of_step(after: str, definition: schema.StepBody) -> tuple[str, str, str]:
    aborted = "The run ends as aborted. Nothing after this step is started."
    if definition.on_failure.policy == "continue":
        return after, aborted, f"the step fails, and the run goes on all the same, as the pipeline says. {after}"
    return after, aborted, "the step fails, and with it the run."


def _of_branch(approval: Approval) -> tuple[str, str, str]:
    group = definitions.group_of(approval.step.name)
    joined = f"group {group} is joined once its other branches have ended."
    aborted = f"This branch ends as aborted, and so does the run once the other branches of group {group} have ended."
    return f"This branch is completed, and {joined}", aborted, f"this branch fails, and {joined}"


_THEN = {
    "escalate": "A person is asked what should happen then.",
    "abort": "The run ends as aborted.",
    "proceed": "The run goes on all the same, as the pipeline says.",
}


def _of_check(approval: Approval, definition: schema.StepBody) -> tuple[str, str, str]:
    if definitions.own_threshold(definition) is None:
        then = f"Group {definitions.group_of(approval.step.name)} decides what follows."
    else:
        then = _THEN[definition.on_low_confidence]
    failed = f"fails, so trust in this step is 0. {then}"
    approve = "The check passes. Whether the run goes on is up to the step's other signals and its threshold."
    return approve, f"The check {failed}", f"the check {failed}"
