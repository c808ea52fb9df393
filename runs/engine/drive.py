"""Doing one piece of work, and then whatever it leads to, in the same task."""

import logging
import uuid

from django.db import DatabaseError, IntegrityError, InterfaceError, OperationalError
from django.utils import timezone

from runs.engine import branches, closing, commit, joining, leases, overdue, plan, state, step, turns
from runs.engine.claimed import Claimed, onward
from runs.engine.finish import end
from runs.engine.leases import LeaseLost, heartbeat
from runs.engine.plan import Prepared
from runs.engine.work import Work
from runs.executors.base import Stopped
from runs.models import RunStatus, Signal, Step, StepStatus
from runs.pipelines import definitions
from runs.storable import storable_reason

logger = logging.getLogger(__name__)

NOT_OURS = (LeaseLost, Stopped, commit.NotOurs)
# Of SQLSTATE: "program limit exceeded". What is written is too large for PostgreSQL, and will be the next time too.
TOO_LARGE = "54"


def perform(work: Work) -> None:
    """Do the work and its continuation. Work that is done already, or someone else's, is no error."""
    following: Claimed | Work | None = work
    while following is not None:
        following = _take(following) if isinstance(following, Work) else _carry_on(following)


def _take(work: Work) -> Claimed | Work | None:
    return _begin_run(work.id) if work.kind == "run" else _take_step(work.id)


def _begin_run(run_id: uuid.UUID) -> Claimed | Work | None:
    """Start a queued run; give a running one that has no unfinished step what comes next."""
    try:
        return _begin(run_id)
    except NOT_OURS:
        return None
    except Exception as error:
        if _is_away(error):
            logger.exception("run %s is left to the sweeper", run_id)
            return None
        logger.exception("run %s cannot begin", run_id)
        closing.give_up(run_id=run_id, reason=_unforeseen(error), now=timezone.now())
        return None


def _begin(run_id: uuid.UUID) -> Claimed | Work | None:
    run = state.load(run_id)
    if run is None or run.run.status not in {RunStatus.QUEUED, RunStatus.RUNNING}:
        return None
    now = timezone.now()
    following = plan.plan_next(run, now=now)
    if following.paused is not None:
        commit.leave(run.run, now=now)
        return None
    if run.run.status == RunStatus.QUEUED:
        commit.start(run, following, now=now)
    elif following.begin or following.works or following.end:
        try:
            commit.resume(run, following, now=now)
        except IntegrityError as error:  # the step exists by now: another worker was quicker
            raise commit.NotOurs from error
    return onward(run, following)


def _take_step(step_id: uuid.UUID) -> Claimed | Work | None:
    if branches.left_alone(step_id, now=timezone.now()):
        return None
    lease = leases.claim(step_id, now=timezone.now())
    if lease is None and overdue.end(step_id, now=timezone.now()):
        lease = leases.claim(step_id, now=timezone.now())
    if lease is None:
        return None
    row = Step.objects.get(id=step_id)
    try:
        run = state.load(row.run_id, before=None if row.branch is None else row.index)
        assert run is not None
        if run.run.status != RunStatus.RUNNING:
            logger.error("step %s was left behind by its run, which is %s", step_id, run.run.status)
            closing.end_leftover(step_id=step_id, now=timezone.now())
            return None
        if row.executor in definitions.GROUPS:
            with heartbeat.holding(lease):
                return joining.conclude(run, row, lease)
        definition = definitions.definition_of(run.pipeline, index=row.index, branch=row.branch)
        prepared = Prepared(row, definition, plan.step_context(run, definition, row), {})
        prepared.signals = list(Signal.objects.filter(step_id=step_id).order_by("kind", "position", "id"))
        prepared.answer_saved = row.status == StepStatus.JUDGING
        if row.started_at is not None:  # else it is a branch that nobody has begun: beginning it renders it
            plan.render_config(prepared)
    except NOT_OURS:
        return None
    except Exception as error:
        if _is_away(error):
            logger.exception("step %s is left to the sweeper", step_id)
            return None
        logger.exception("step %s cannot be taken on", step_id)
        closing.give_up(run_id=row.run_id, reason=_unforeseen(error), now=timezone.now())
        return None
    return Claimed(run, prepared, lease)


def _carry_on(claimed: Claimed) -> Claimed | Work | None:
    with heartbeat.holding(claimed.lease):
        try:
            following = step.carry_on(claimed)
            turns.hand_on(claimed.row.agent)
            return following
        except NOT_OURS:
            logger.info("step %s is no longer this worker's", claimed.row.id)
        except Exception as error:
            if _is_away(error):
                logger.exception("step %s is left to the sweeper", claimed.row.id)
                _note_trouble(claimed, error)
                return None
            logger.exception("step %s broke in an unforeseen way", claimed.row.id)
            return _broken(claimed, error)
    return None


def _note_trouble(claimed: Claimed, error: Exception) -> None:
    """Leave word of a database error, if the database takes it: it is the reason should the step be given up."""
    try:
        leases.fenced_update(claimed.lease, error=storable_reason(f"{type(error).__name__}: {error}"))
    except (*NOT_OURS, DatabaseError, InterfaceError):
        logger.warning("no word could be left at step %s", claimed.row.id)


def _broken(claimed: Claimed, error: Exception) -> Claimed | Work | None:
    """Whatever happens, a step ends with a reason and so does its run."""
    try:
        return end(claimed, StepStatus.FAILED, _unforeseen(error))
    except NOT_OURS:
        return None
    except Exception:
        # What the step holds cannot even be written: its run ends without it.
        logger.exception("step %s cannot be ended", claimed.row.id)
        closing.give_up(run_id=claimed.state.run.id, reason=_unforeseen(error), now=timezone.now())
        return None


def _unforeseen(error: Exception) -> str:
    return f"unforeseen error: {type(error).__name__}: {error}"


def _is_away(error: Exception) -> bool:
    """Whether the database cannot be reached, or would not let us in: the sweeper hands the work out again."""
    sqlstate = getattr(error.__cause__, "sqlstate", None) or ""
    return isinstance(error, OperationalError | InterfaceError) and not sqlstate.startswith(TOO_LARGE)
