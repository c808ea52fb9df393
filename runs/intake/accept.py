"""Making a run of a payload: the only way a run comes into being."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db import IntegrityError

from calibration.statements import Statement, execute
from runs import events, rows
from runs.engine import pauses, transactions
from runs.engine.publish import publish
from runs.engine.work import Work
from runs.intake import backlog, dedup, sources
from runs.intake.body import check_depth
from runs.intake.incoming import Incoming
from runs.intake.resolve import Resolved, resolve
from runs.intake.sources import generic
from runs.models import PipelineVersion, Run
from runs.pipelines import registry
from runs.storable import storable, storable_name, storable_text

# A run whose message was lost (the broker was down) is found by the sweeper this long after.
FOUND_AFTER = timedelta(seconds=5)
_LOST_RACES = 5
SCHEDULE = "schedule"  # the source of runs that nobody sent


@dataclass(frozen=True)
class Accepted:
    """The answer to a payload. ``run_id`` is of a run that is stored; None only for skipped_testing.

    ``reason``: why no new run was made, or why the one that was made waits.
    """

    status: Literal["accepted", "deduplicated", "skipped_testing"]
    pipeline: str
    run_id: uuid.UUID | None = None
    reason: str = ""


class _HasTwin(Exception):
    """Rolls the new run back: an equal one ended between the look and the insert."""

    def __init__(self, twin: Run) -> None:
        super().__init__()
        self.twin = twin


def accept(*, incoming: Incoming, team: str, started_by: str, allow_testing: bool, now: datetime) -> Accepted:
    """Store a run for the payload and tell the workers, or say which run it is a duplicate of.

    ``team`` comes from who was authenticated, never from the payload. Raises UnknownPipeline and
    BacklogFull.
    """
    found = resolve(incoming, allow_testing=allow_testing)
    if found.is_testing and not allow_testing:
        return Accepted(
            "skipped_testing",
            found.pipeline.name,
            reason="The pipeline's stage is testing; add allow_testing=true to run it from a webhook.",
        )
    policy = dedup.policy_of(found.pipeline)
    run = _new_run(incoming, found, team=team, started_by=started_by, keyed=policy.enabled, now=now)
    return _store_once(run, window=policy.window, now=now)


def start(
    *,
    pipeline: str,
    payload: Mapping[str, Any],
    team: str,
    source: str,
    started_by: str,
    now: datetime,
    form: str = "generic",
) -> Accepted:
    """Start a pipeline by its name, testing or not: what the API, the button and the command do.

    ``form`` is whose shape the payload has, as for a webhook. Raises BadPayload, UnknownPipeline and BacklogFull.
    """
    check_depth(payload)
    if form == "generic":
        incoming = generic.read_for(pipeline, payload, source=source)
    else:
        incoming = replace(sources.read(form, payload), pipeline=pipeline.strip())
    return accept(incoming=incoming, team=team, started_by=started_by, allow_testing=True, now=now)


def store_unannounced(
    *,
    version: PipelineVersion,
    payload: Mapping[str, Any],
    team: str,
    source: str,
    started_by: str,
    now: datetime,
) -> uuid.UUID:
    """Store a run of this very version for a caller that carries it out itself, and tell no worker of it.

    Equal payloads are not looked for. Should the caller die, the sweeper finds the run.
    """
    found = Resolved(version, registry.parsed(version))
    incoming = generic.read_for(version.name, payload, source=source)
    run = _new_run(incoming, found, team=team, started_by=started_by, keyed=False, now=now)
    transactions.write(lambda: execute(_insertion(run, now)))
    return run.id


def start_scheduled(
    *,
    version: PipelineVersion,
    payload: Mapping[str, Any],
    team: str,
    taking: Callable[[uuid.UUID], Sequence[Statement]],
    now: datetime,
) -> uuid.UUID:
    """Store a run of this very version in one transaction with ``taking``, and tell the workers.

    ``taking``: for the id of the run, the statements that run first and raise when the tick is someone else's. Equal
    payloads are not looked for: every tick is meant. Raises BacklogFull and what ``taking`` raises.
    """
    found = Resolved(version, registry.parsed(version))
    incoming = generic.read_for(version.name, payload, source=SCHEDULE)
    run = _new_run(incoming, found, team=team, started_by="", keyed=False, now=now)
    ready = [*taking(run.id), *_insertion(run, now)]
    backlog.check()

    def insert() -> None:
        execute(ready)
        publish(Work("run", run.id))

    transactions.write(insert)
    backlog.one_more()
    return run.id


def _new_run(incoming: Incoming, found: Resolved, *, team: str, started_by: str, keyed: bool, now: datetime) -> Run:
    return Run(
        pipeline_name=found.pipeline.name,
        version=found.version,
        stage=found.pipeline.stage,
        team=team,
        source=storable_name(incoming.source),
        started_by=storable_text(started_by),
        context=storable(incoming.context),
        payload=storable(incoming.payload),
        summary=storable_text(incoming.summary),
        dedup_key=dedup.bounded(storable_text(incoming.dedup_key)) if keyed else "",
        triggered_at=now,
        wake_at=now + FOUND_AFTER,
    )


def _store_once(run: Run, *, window: timedelta, now: datetime) -> Accepted:
    """Look, insert, and look again when the insert lost a race.

    The unique index refuses a second run in flight. A run that ended between the look and the insert
    is outside of it, so the insert's own transaction looks once more.
    """
    lost: IntegrityError | None = None
    ready = _insertion(run, now)
    for _ in range(_LOST_RACES):
        twin = _twin(run, window, now)
        if twin is not None:
            return _duplicate(run, twin, now)
        backlog.check()
        try:
            transactions.write(lambda: _insert(run, ready, window, now))
        except _HasTwin as ended:
            return _duplicate(run, ended.twin, now)
        except IntegrityError as error:
            if not run.dedup_key:
                raise
            lost = error
            continue
        backlog.one_more()
        return Accepted("accepted", run.pipeline_name, run.id, waits(run.pipeline_name))
    raise RuntimeError(
        f"{run.pipeline_name}: equal payloads came and ended faster than they could be told apart"
    ) from lost


def _insertion(run: Run, now: datetime) -> list[Statement]:
    by = f" by {run.started_by}" if run.started_by else ""
    queued = events.event(run.id, "run.queued", f"Accepted from {run.source}{by}.", now=now)
    return [*rows.insertion([run]), *rows.insertion([queued])]


def _insert(run: Run, ready: Sequence[Statement], window: timedelta, now: datetime) -> None:
    execute(ready)
    twin = _twin(run, window, now)
    if twin is not None:
        raise _HasTwin(twin)
    publish(Work("run", run.id))


def _twin(run: Run, window: timedelta, now: datetime) -> Run | None:
    return dedup.twin_of(run, window=window, now=now) if run.dedup_key else None


def waits(pipeline_name: str) -> str:
    """Why an accepted run does not start at once; "" when it does."""
    pause = pauses.of(pipeline_name)
    return "" if pause is None else f"{pauses.sentence(pause)}: the run is stored, and starts when that is over."


def _duplicate(run: Run, twin: Run, now: datetime) -> Accepted:
    return Accepted("deduplicated", run.pipeline_name, twin.id, dedup.reason(twin, now=now))
