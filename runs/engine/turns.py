"""At most so many calls of an agent at once, over all workers: who finds none free waits its turn, without a worker.

A call counts from the taking of its turn until its answer is kept or its lease ends, so the place of a worker that was
killed is free as soon as its lease has run out. Those who wait are called up one for each free place, the
longest waiting first: whoever ends a call does that, and the sweeper for those who cannot.
"""

import uuid
from datetime import datetime

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from calibration.statements import execute
from runs import events, rows
from runs.engine import leases, pauses, transactions
from runs.engine.leases import Lease
from runs.engine.publish import PATIENCE, publish
from runs.engine.work import Work
from runs.models import Run, Step, StepStatus
from runs.models.step import UNFINISHED

BATCH = 500  # called up at one look


def limit_of(agent: str) -> int | None:
    """How many steps may ask the agent at once; None for no limit."""
    limits = settings.SERVICE.agents.get(agent)
    return None if limits is None else limits.max_calls


def told(agent: str) -> str:
    """What a step waits for, as the end of a sentence."""
    limit = limit_of(agent)
    return f"a free call of {agent}" + ("" if limit is None else f": {limit} of {limit} in use")


def take(row: Step, lease: Lease, *, now: datetime) -> bool:
    """Take a turn of the step's agent; False when it waits for one now, and its row is free. No query without a limit.

    Raises LeaseLost.
    """
    limit = limit_of(row.agent)
    if limit is None:
        return True
    taken = transactions.write(lambda: _take(row, lease, limit, now))
    if taken:
        row.turn_asked_at = None
    return taken


def _take(row: Step, lease: Lease, limit: int, now: datetime) -> bool:
    _one_at_a_time(row.agent)
    asked_at = row.turn_asked_at or now
    if _calls(row.agent).exclude(id=row.id).count() + _before(row, asked_at).count() < limit:
        leases.fenced_update(lease, turn_taken_at=now, turn_asked_at=None)
        return True
    # A claim after a wait is no sign of a worker that went silent.
    free = {"status": StepStatus.PENDING, "leased": False, "attempts": 0, "wake_at": None, "turn_taken_at": None}
    execute([leases.fenced(lease, turn_asked_at=asked_at, **free)])
    if row.turn_asked_at is None:
        message = f"{row.name} waits for {told(row.agent)}."
        rows.insert([events.event(row.run_id, "step.waiting", message, now=now, step_name=row.name)])
    return False


def _one_at_a_time(agent: str) -> None:
    """Two that count at once would both find the last place free. SQLite has one writer at a time anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"turns of {agent}"])


def _calls(agent: str) -> "QuerySet[Step]":
    return Step.objects.filter(agent=agent, turn_taken_at__isnull=False, leased=True, status=StepStatus.RUNNING)


def _waiting(agent: str) -> "QuerySet[Step]":
    return _asking().filter(agent=agent).exclude(_paused())


def _asking() -> "QuerySet[Step]":
    return Step.objects.filter(turn_asked_at__isnull=False, status__in=UNFINISHED)


def _before(row: Step, asked_at: datetime) -> "QuerySet[Step]":
    """Those who have waited longer: a free place is theirs."""
    earlier = Q(turn_asked_at__lt=asked_at) | Q(turn_asked_at=asked_at, id__lt=row.id)
    return _waiting(row.agent).filter(earlier)


def _paused() -> Q:
    """They keep no place free, and are not called up."""
    return ~Q(run_id__in=Run.objects.filter(pauses.allowed()).values("id")) if pauses.in_force() else Q(pk__in=[])


def call_up(agent: str, *, now: datetime) -> int:
    """Send workers to as many of those who wait for the agent as there are places free; how many."""
    limit = limit_of(agent)
    waiting = _waiting(agent).filter(leased=False, wake_at=None).order_by("turn_asked_at", "id")
    free = BATCH if limit is None else limit - _calls(agent).count() - _called_up(agent)
    called = [id_ for id_ in waiting.values_list("id", flat=True)[: max(free, 0)] if _call(id_, now)]
    publish(*(Work("step", id_) for id_ in called))
    return len(called)


def _called_up(agent: str) -> int:
    return _waiting(agent).filter(wake_at__isnull=False).count()


def _call(id_: uuid.UUID, now: datetime) -> bool:
    """From here on it is due as any other step, so a message that is lost is sent again. False: another was quicker."""
    return bool(
        Step.objects.filter(id=id_, turn_asked_at__isnull=False, leased=False, wake_at=None).update(
            wake_at=now + PATIENCE
        )
    )


def call_up_all(*, now: datetime) -> int:
    """``call_up`` for every agent somebody waits for."""
    agents = _asking().order_by().values_list("agent", flat=True).distinct()
    return sum(call_up(agent, now=now) for agent in agents)


def hand_on(agent: str) -> None:
    """Call up the next one after a call has ended. No query without a limit."""
    if limit_of(agent) is not None:
        call_up(agent, now=timezone.now())
