"""Doing one piece of work, and then whatever it leads to, in the same task."""

import logging
import uuid

from django.db import DatabaseError, IntegrityError
from django.utils import timezone

from runs.engine import commit, leases, plan, state, step
from runs.engine.leases import Lease, LeaseLost, heartbeat
from runs.engine.plan import Prepared
from runs.engine.state import RunState
from runs.engine.work import Work
from runs.executors.base import Stopped
from runs.models import RunStatus, Signal, Step, StepStatus
from runs.pipelines import templating

logger = logging.getLogger(__name__)


def perform(work: Work) -> None:
    """Do the work and its continuation. Work that is done already, or someone else's, is no error."""
    try:
        begun = _begin_run(work.id) if work.kind == "run" else _take_step(work.id)
    except commit.NotOurs:
        return
    while begun is not None:
        begun = _carry_on(*begun)


Begun = tuple[RunState, Prepared, Lease]


def _begin_run(run_id: uuid.UUID) -> Begun | None:
    """Start a queued run; give a running one that has no unfinished step what comes next."""
    run = state.load(run_id)
    if run is None or run.run.status not in {RunStatus.QUEUED, RunStatus.RUNNING}:
        return None
    now = timezone.now()
    following = plan.plan_next(run, now=now)
    if run.run.status == RunStatus.QUEUED:
        commit.start(run, following, now=now)
    elif following.begin or following.end:
        try:
            commit.resume(run, following, now=now)
        except IntegrityError as error:  # the step exists by now: another worker was quicker
            raise commit.NotOurs from error
    return _held(run, following.begin)


def _held(run: RunState, prepared: Prepared | None) -> Begun | None:
    return None if prepared is None else (run, prepared, Lease(prepared.row.id, prepared.row.lease))


def _take_step(step_id: uuid.UUID) -> Begun | None:
    lease = leases.claim(step_id, now=timezone.now())
    if lease is None:
        return None
    row = Step.objects.get(id=step_id)
    run = state.load(row.run_id)
    assert run is not None
    definition = run.pipeline.steps[row.index]
    prepared = Prepared(row, definition, plan.step_context(run, definition, row), {})
    prepared.signals = list(Signal.objects.filter(step_id=step_id).order_by("kind", "position", "id"))
    prepared.answer_saved = row.status == StepStatus.JUDGING
    try:
        plan.render_config(prepared)
    except templating.TemplateError as error:
        return _held(run, step.end(run, prepared, lease, StepStatus.FAILED, str(error)))
    return run, prepared, lease


def _carry_on(run: RunState, prepared: Prepared, lease: Lease) -> Begun | None:
    with heartbeat.holding(lease):
        try:
            return _held(run, step.carry_on(run, prepared, lease))
        except (LeaseLost, Stopped, commit.NotOurs):
            logger.info("step %s is no longer this worker's", lease.step_id)
        except DatabaseError:
            # The lease runs out and the sweeper hands the step to a worker whose database answers.
            logger.exception("step %s is left to the sweeper", lease.step_id)
        except Exception as error:
            logger.exception("step %s broke in an unforeseen way", lease.step_id)
            return _broken(run, prepared, lease, error)
    return None


def _broken(run: RunState, prepared: Prepared, lease: Lease, error: Exception) -> Begun | None:
    """Whatever happens, a step ends with a reason and so does its run."""
    reason = f"unforeseen error: {type(error).__name__}: {error}"
    try:
        return _held(run, step.end(run, prepared, lease, StepStatus.FAILED, reason))
    except (LeaseLost, commit.NotOurs):
        return None
