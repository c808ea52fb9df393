"""What each decision on an escalation would do, and what silence does, in sentences."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs.models import Escalation, EscalationState, Run, Step
from runs.models.step import UNFINISHED
from runs.pipelines.definitions import GROUPS, group_of, written


@dataclass(frozen=True)
class Consequences:
    """A sentence for each decision; ``revise`` is "" where there is no output to revise."""

    approve: str
    revise: str
    escalate: str
    abort: str


@dataclass(frozen=True)
class _Siblings:
    """The other branches of a branch's group: ``working`` have not ended, ``waiting`` wait for a decision too."""

    working: int
    waiting: int


def consequences(escalation: Escalation, run: Run, *, proceed: bool = True) -> Consequences:
    """For an open escalation with its step; ``proceed`` is false where the answer says that the run should stop.

    ``run`` comes with its version. Two queries for a branch, none otherwise.
    """
    step = escalation.step
    if step.branch is not None:
        return _of_branch(step, _siblings(step))
    after = follows(step, run.version.config)
    approve = after if proceed else "The run ends as stopped, since the answer says that there is nothing more to do."
    then = after if proceed else f"{approve.removesuffix('.')}, unless your version sets proceed to true."
    revise = "" if step.executor in GROUPS else f"Your version stands in the place of the answer. {then}"
    return Consequences(approve, revise, _ESCALATE, "The run ends as aborted. Nothing after this step is started.")


_ESCALATE = "The run stays paused, and the group you name is asked instead."


def _of_branch(step: Step, siblings: _Siblings) -> Consequences:
    group = group_of(step.name)
    waits = []
    if siblings.working:
        waits.append(f"{_branches(siblings.working)} of it {'has' if siblings.working == 1 else 'have'} ended")
    if siblings.waiting:
        waits.append(f"{_branches(siblings.waiting)} of it {'is' if siblings.waiting == 1 else 'are'} decided on too")
    once = f" once {' and '.join(waits)}" if waits else " at once"
    joined = f"The group {group} is joined again{once}, and its own threshold decides how the run goes on."
    later = f" once {' and '.join(waits[:1])}" if siblings.working else ""
    return Consequences(
        joined,
        f"Your version stands in the place of the answer. {joined}",
        _ESCALATE,
        f"The run ends as aborted{later}.",
    )


def _branches(count: int) -> str:
    return "another branch" if count == 1 else f"{count:,} other branches"


def _siblings(step: Step) -> _Siblings:
    others = Step.objects.filter(run_id=step.run_id, index=step.index, branch__isnull=False).exclude(id=step.id)
    waiting = Escalation.objects.filter(run_id=step.run_id, step__index=step.index, state=EscalationState.OPEN)
    return _Siblings(
        working=others.filter(status__in=UNFINISHED).count(), waiting=waiting.exclude(step_id=step.id).count()
    )


def follows(step: Step, config: Mapping[str, Any]) -> str:
    """What the run does once ``step``, which is no branch, has passed."""
    entries = written(config)
    if step.index + 1 >= len(entries):
        return "It was the last step, so the run is completed."
    following = entries[step.index + 1]
    condition = ", if its condition holds" if following.get("when") else ""
    return f"Then step {following.get('name')} runs{condition}."


def proceeds(step_id: uuid.UUID) -> bool:
    """Whether the step's answer lets the run go on."""
    said = Step.objects.filter(id=step_id).values_list("parsed_output__proceed", flat=True).first()
    return said is not False


def silence(escalation: Escalation) -> str:
    """What happens when nobody decides, without the time, which stands beside it."""
    if escalation.overdue_since is not None:
        return "The deadline has passed and nobody has decided. It keeps waiting: silence is never approval."
    if escalation.due_at is None:
        return "There is no deadline: it waits until somebody decides."
    if escalation.on_timeout == "abort":
        return "If nobody decides by then, the run is aborted."
    return "If nobody decides by then, that is noted and it keeps waiting. Silence is never approval."
