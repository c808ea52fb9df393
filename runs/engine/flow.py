"""What comes next in a run: pure, over the order of the steps and what has become of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

# A step that ended in one of these lets the run go on to the next step.
PASSED = frozenset({"completed", "skipped"})
UNFINISHED = frozenset({"pending", "running", "judging"})


@dataclass(frozen=True)
class Begin:
    """Begin the step at this place in the pipeline."""

    index: int


@dataclass(frozen=True)
class Wait:
    """A step is under way."""

    index: int


@dataclass(frozen=True)
class End:
    """The run has come to rest: with ``status``, because of the step at ``index`` (None: the last one passed)."""

    status: Literal["completed", "stopped", "escalated", "aborted", "failed"]
    index: int | None = None


Next = Begin | Wait | End


def next_of(names: Sequence[str], statuses: Mapping[str, str], continue_on_failure: frozenset[str]) -> Next:
    """The first thing to do, given each begun step's status by name.

    ``continue_on_failure`` names the steps whose failure does not end the run.
    """
    for index, name in enumerate(names):
        status = statuses.get(name)
        if status is None:
            return Begin(index)
        if status in UNFINISHED:
            return Wait(index)
        if status in PASSED or (status == "failed" and name in continue_on_failure):
            continue
        return End(status, index)  # type: ignore[arg-type]  # the remaining step statuses are run statuses
    return End("completed")
