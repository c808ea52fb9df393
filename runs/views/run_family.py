"""The runs a run belongs with: the one whose step started it, those its own steps have started, and its reruns."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from runs.models import Run, Step
from runs.models.run import ENDED

RERUNS_SHOWN = 5
CHILDREN_SHOWN = 20  # of one step: a retry starts another run


def parent_of(run: Run) -> Step | None:
    """The step that started the run, with its run; None for a run that came from outside. One query at most."""
    if run.parent_step_id is None:
        return None
    wanted = ("name", "run_id", "run__pipeline_name", "run__status")
    return Step.objects.select_related("run").only(*wanted).filter(id=run.parent_step_id).first()


def reruns_of(run: Run) -> Sequence[Run]:
    """The newest runs that run it again, one more than are shown. No query for a run that has not ended."""
    if run.status not in ENDED:
        return []
    return list(run.reruns.only("status", "rerun_from").order_by("-id")[: RERUNS_SHOWN + 1])


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
