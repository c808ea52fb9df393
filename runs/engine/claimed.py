"""A step in the hands of this worker."""

from dataclasses import dataclass

from runs.engine import parents
from runs.engine.leases import Lease
from runs.engine.plan import Plan, Prepared
from runs.engine.publish import publish
from runs.engine.state import RunState
from runs.engine.work import Work
from runs.models import Step
from runs.pipelines import schema


@dataclass
class Claimed:
    """The run a step belongs to, what was prepared for it, and the lease to write it under."""

    state: RunState
    prepared: Prepared
    lease: Lease

    @property
    def row(self) -> Step:
        return self.prepared.row

    @property
    def definition(self) -> schema.StepBody:
        return self.prepared.definition


def onward(state: RunState, plan: Plan) -> Claimed | Work | None:
    """What whoever wrote the plan carries on with: the step it begins, which is claimed already, or the first of
    several works. The others are published. After a run's end that is the step that started the run, if one did.
    """
    if plan.begin is not None:
        return Claimed(state, plan.begin, Lease(plan.begin.row.id, plan.begin.row.lease))
    works = plan.works
    if plan.end is not None and plan.end.status != "escalated":
        works = parents.woken(state.run.parent_step_id)
    publish(*works[1:])
    return works[0] if works else None
