"""The runs a run belongs with: the one whose step started it, and those its own steps have started."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from runs.models import Run, Step

CHILDREN_SHOWN = 20  # of one step: a retry starts another run


def parent_of(run: Run) -> Step | None:
    """The step that started the run, with its run; None for a run that came from outside. One query at most."""
    if run.parent_step_id is None:
        return None
    wanted = ("name", "run_id", "run__pipeline_name", "run__status")
    return Step.objects.select_related("run").only(*wanted).filter(id=run.parent_step_id).first()


def children_of(steps: Iterable[Step]) -> Mapping[uuid.UUID, Sequence[Run]]:
    """The runs each step has started, the newest first. No query unless a step can start runs."""
    starting = [step.id for step in steps if step.executor == "pipeline"]
    found: dict[uuid.UUID, list[Run]] = defaultdict(list)
    if not starting:
        return found
    started = Run.objects.filter(parent_step_id__in=starting).order_by("-id")
    for run in started.only("pipeline_name", "status", "reason", "parent_step_id")[: CHILDREN_SHOWN * len(starting)]:
        assert run.parent_step_id is not None
        found[run.parent_step_id].append(run)
    return found
