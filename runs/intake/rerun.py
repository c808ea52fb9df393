"""Running a finished run again from one of its steps: a new run that takes over what the steps before it gave."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import ValidationError

from calibration.plurals import plural
from calibration.statements import Statement, execute
from runs import events, rows
from runs.engine import flow, transactions
from runs.engine.publish import publish
from runs.engine.work import Work
from runs.intake import accept, backlog
from runs.models import PipelineVersion, Run, Step
from runs.models.run import ENDED
from runs.pipelines import definitions, registry, schema
from runs.storable import storable_text

Version = Literal["same", "current"]
VERSIONS: tuple[Version, ...] = ("same", "current")
SOURCE = "rerun"
SHOWN = 20  # names of steps in a refusal

# What later templates, joins and the page read. What the agents were asked, and what that took, stays with the
# original: nothing is counted twice.
_TAKEN = (
    "name",
    "branch",
    "branch_context",
    "status",
    "error",
    "executor",
    "parsed_output",
    "revised_output",
    "primary_confidence",
    "verifier_confidence",
    "effective_confidence",
    "grounding_score",
    "deterministic_passed",
    "combined_trust",
    "confidence_threshold",
    "trust_report",
)


class CannotRerun(Exception):
    """It cannot be run again like that; the text says why, and what can be done."""


class NoSuchStep(CannotRerun):
    """The version that would run has no such step; ``known`` are those it has."""

    def __init__(self, message: str, known: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.known = list(known)


@dataclass(frozen=True)
class Prepared:
    """What would run: from the step at ``place`` on, after the steps ``taken``, the branches of groups included."""

    original: Run
    version: PipelineVersion
    pipeline: schema.Pipeline
    place: int
    taken: list[Step] = field(default_factory=list)

    @property
    def names_taken(self) -> list[str]:
        return [step.name for step in self.taken if step.branch is None]

    @property
    def names_again(self) -> list[str]:
        return [entry.name for entry in self.pipeline.entries[self.place :]]


@dataclass(frozen=True)
class Started:
    """The new run; ``reason`` is why it does not begin at once, if so."""

    run_id: uuid.UUID
    pipeline: str
    reason: str


def prepare(run_id: uuid.UUID, *, from_step: str, version: Version) -> Prepared:
    """See whether the run can be run again. Raises Run.DoesNotExist, CannotRerun and NoSuchStep."""
    original = Run.objects.select_related("version").defer("version__source").get(id=run_id)
    if original.status not in ENDED:
        raise CannotRerun(f"The run has not ended ({original.status}): wait for its end, decide on it, or cancel it.")
    try:
        current = registry.current(original.pipeline_name)
        if current is None:
            raise CannotRerun(f"The pipeline {original.pipeline_name} was removed, so nothing of it starts.")
        chosen = current if version == "current" else original.version
        pipeline = registry.parsed(chosen)
    except ValidationError:  # it came in with a history
        raise CannotRerun("The version it executed is no pipeline that can run here.") from None
    place = _place(pipeline, from_step, version)
    return Prepared(original, chosen, pipeline, place, _taken(original, pipeline, place))


def rerun(run_id: uuid.UUID, *, from_step: str, version: Version, by: str, now: datetime) -> Started:
    """Store the new run and tell the workers. It is never a duplicate of another, nor another of it.

    Raises what ``prepare`` raises, and BacklogFull.
    """
    prepared = prepare(run_id, from_step=from_step, version=version)
    run = _run(prepared, from_step, by, now)
    ready = _insertion(run, prepared, by, now)
    backlog.check()

    def insert() -> None:
        execute(ready)
        publish(Work("run", run.id))

    transactions.write(insert)
    backlog.one_more()
    return Started(run.id, run.pipeline_name, accept.waits(run.pipeline_name))


def _place(pipeline: schema.Pipeline, from_step: str, version: Version) -> int:
    names = [entry.name for entry in pipeline.entries]
    if from_step in names:
        return names.index(from_step)
    group = definitions.group_of(from_step)
    if group != from_step and group in names:
        raise NoSuchStep(f"{from_step} is a branch of {group}, and groups run again as a whole: name {group}.", [group])
    which = "The pipeline as it is now" if version == "current" else "The version it executed"
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    raise NoSuchStep(f"{which} has no step {from_step[:200]!r}. It has: {shown}.", names[:SHOWN])


def _taken(original: Run, pipeline: schema.Pipeline, place: int) -> list[Step]:
    """The original's rows of the steps before ``place``. Raises CannotRerun where the new run could not go on after
    them.
    """
    before = pipeline.entries[:place]
    if not before:
        return []
    found = list(Step.objects.filter(run=original).only("id", *_TAKEN).order_by("index", "branch", "id"))
    by_name = {step.name: step for step in found if step.branch is None}
    for entry in before:
        _check_alike(entry, by_name.get(entry.name))
    entries = pipeline.entries
    following = flow.next_of(
        [entry.name for entry in entries],
        {entry.name: by_name[entry.name].status for entry in before},
        frozenset(entry.name for entry in entries if definitions.goes_on_after_failure(entry)),
    )
    if isinstance(following, flow.End) and following.index is not None:
        name = entries[following.index].name
        raise CannotRerun(
            f"{name} {following.status} in that run, and nothing goes on after it: run again from {name}."
        )
    names = {entry.name for entry in before}
    return [step for step in found if (step.name if step.branch is None else definitions.group_of(step.name)) in names]


def _check_alike(entry: schema.Step | schema.Group, step: Step | None) -> None:
    if step is None:
        raise CannotRerun(f"{entry.name} comes before it and has not run in that run: run again from {entry.name}.")
    kind = entry.executor if isinstance(entry, schema.Step) else definitions.kind_of(entry)
    if kind != step.executor and not {kind, step.executor}.isdisjoint(definitions.GROUPS):
        was = f"{entry.name} was {step.executor} in that run and is {kind} now"
        raise CannotRerun(f"{was}, so its answer cannot be taken over: run again from {entry.name}.")


def _run(prepared: Prepared, from_step: str, by: str, now: datetime) -> Run:
    original = prepared.original
    return Run(
        pipeline_name=original.pipeline_name,
        version=prepared.version,
        stage=prepared.pipeline.stage,
        team=original.team,
        source=SOURCE,
        started_by=storable_text(by),
        context=original.context,
        payload=original.payload,
        summary=original.summary,
        triggered_at=now,
        wake_at=now + accept.FOUND_AFTER,
        rerun_of=original,
        rerun_from=from_step,
    )


def _insertion(run: Run, prepared: Prepared, by: str, now: datetime) -> list[Statement]:
    places = {entry.name: index for index, entry in enumerate(prepared.pipeline.entries)}
    copies = [_copy(step, run, places, now) for step in prepared.taken]
    took = plural(len(prepared.names_taken), "step is", "steps are")
    message = f"Run again by {by} from {run.rerun_from}: run {prepared.original.id}, of which {took} taken over."
    return [
        *rows.insertion([run]),
        *rows.insertion(copies),
        *rows.insertion([events.event(run.id, "run.queued", message, now=now)]),
    ]


def _copy(step: Step, run: Run, places: dict[str, int], now: datetime) -> Step:
    """A row that is over, and cost nothing here."""
    name = step.name if step.branch is None else definitions.group_of(step.name)
    return Step(
        run_id=run.id,
        index=places[name],
        taken_from=step.id,
        cost_nanos=0,
        created_at=now,
        started_at=now,
        completed_at=now,
        **{field_: getattr(step, field_) for field_ in _TAKEN},
    )
