"""Letting go of a step that has to wait, for a run or for a person: no worker is held until what it waits for is there.

Whatever the step waits for takes one from ``awaited`` (``parents.arrival``); with the last one the step is due again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from calibration.statements import Statement
from runs.engine import commit, leases
from runs.engine.leases import Lease
from runs.engine.state import RunState
from runs.engine.work import Work
from runs.models import RunEvent, StepStatus


class LetGo(Exception):
    """The step waits now; ``work`` is what its worker may do instead."""

    def __init__(self, work: Work | None = None) -> None:
        super().__init__()
        self.work = work


class Ends(Exception):
    """The step ends without an answer of its executor: with ``status``, for the reason the exception tells."""

    def __init__(self, status: StepStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def let_go(
    state: RunState,
    lease: Lease,
    *,
    awaited: int,
    also: Sequence[Statement],
    told: Sequence[RunEvent],
    fields: Mapping[str, Any] | None = None,
    due_at: datetime | None = None,
) -> None:
    """Free the step's row, with its ``fields``, until ``awaited`` things have arrived or ``due_at`` is over.

    Raises LeaseLost, and NotOurs when the run is not running any more.
    """
    # A claim after a wait is no sign of a worker that went silent.
    free = {"awaited": awaited, "leased": False, "attempts": 0, "wake_at": due_at}
    values = {"status": StepStatus.PENDING, **(fields or {}), **free}
    commit.alone(state, [leases.fenced(lease, **values), *also], told)
