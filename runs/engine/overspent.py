"""Ending a run whose pipeline's budget does not let it go on, in the transaction that ends the step."""

from collections.abc import Sequence
from datetime import datetime

from calibration.statements import Statement, execute
from runs import events, outbox
from runs.engine import closing, commit, flow
from runs.engine.plan import Plan
from runs.engine.run_budget import judge
from runs.engine.state import RunState
from runs.models import Run, RunEvent, Step
from runs.spending import Spent, of_run


def instead(state: RunState, row: Step, spent: Spent) -> Plan | None:
    """The end of the run in place of what would follow; None when it may go on, or ends badly for another reason.

    ``state`` knows all that the run has spent but ``spent``: no other step of it is under way.
    """
    refusal = judge(state.pipeline.budget, of_run(state.run) + spent).refusal
    following = state.next()
    if not refusal or (isinstance(following, flow.End) and following.status in {"aborted", "failed"}):
        return None
    return Plan(end=flow.End("aborted", row.index), reason=f"{row.name}: {refusal}")


def warnings(state: RunState, row: Step, spent: Spent, *, now: datetime) -> list[RunEvent]:
    """What the log says of a step that made part of the budget impossible to check."""
    if not (spent.steps_untold or spent.steps_unpriced):
        return []
    unchecked = judge(state.pipeline.budget, of_run(state.run) + spent).warning
    if not unchecked:
        return []
    message = f"Part of the budget cannot be checked any more: {unchecked}."
    return [events.event(row.run_id, "budget.unknown", message, now=now, step_name=row.name, level="warning")]


def commit_branch(
    state: RunState, row: Step, writes: Sequence[Statement], told: Sequence[RunEvent], spent: Spent, *, now: datetime
) -> bool:
    """Write that a branch has ended, and abort its run when that is over its budget; whether it was.

    Branches that end at once come one after the other here: each adds to the run's row, which it then holds, and
    sees what the ones before it have added. Raises LeaseLost and NotOurs.
    """

    def check() -> bool:
        run = Run.objects.only("tokens", "steps_untold", "cost_nanos", "steps_unpriced").get(id=row.run_id)
        refusal = judge(state.pipeline.budget, of_run(run)).refusal
        reason = f"{row.name}: {refusal}"
        if not refusal or not closing.abort_at_hand(reason, run_id=row.run_id, now=now):
            return False
        execute(
            outbox.ended(
                state.pipeline, "aborted", run_id=row.run_id, index=row.index, outputs={}, reason=reason, now=now
            )
        )
        return True

    over = commit.alone(state, writes, told, spent=spent, then=check)
    if over:
        closing.end_children(row.run_id, reason="The run it was part of is over its budget.", now=now)
    return over
