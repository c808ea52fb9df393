"""A step in the hands of this worker."""

from dataclasses import dataclass

from runs.engine.leases import Lease
from runs.engine.plan import Prepared
from runs.engine.state import RunState
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
    def definition(self) -> schema.Step:
        return self.prepared.definition


def freshly(state: RunState, prepared: Prepared | None) -> Claimed | None:
    """The claim on a step whose row was inserted claimed; None for None."""
    return None if prepared is None else Claimed(state, prepared, Lease(prepared.row.id, prepared.row.lease))
