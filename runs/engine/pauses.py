"""Pausing and resuming: of what is paused no queued run and no new step begins; what is under way ends.

Nothing is parked anywhere. Whoever comes upon work that may not begin leaves it due, and the sweeper passes over it
until the pause is over.
"""

import threading
import time
from collections.abc import Mapping
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Q

from runs.engine import transactions
from runs.models import Pause, Pipeline, Run
from runs.storable import storable_reason

# Seconds for which a process believes what it saw last: looking at every step would cost each of them a query.
LOOKED_AT_EVERY = 1.0
EVERYTHING = ""

_lock = threading.Lock()
_looked_at = float("-inf")
_known: Mapping[str, Pause] = {}


class AlreadyPaused(Exception):
    """Somebody was quicker; the text tells who, and ``pause`` is theirs."""

    def __init__(self, pause: Pause) -> None:
        super().__init__(f"Paused already {told(pause)}.")
        self.pause = pause


class NotPaused(Exception):
    """There is nothing to resume, or somebody else has."""


class NoSuchPipeline(Exception):
    """No pipeline, and no run of one, has ever had that name."""


def in_force() -> Mapping[str, Pause]:
    """What is paused, by the name of the pipeline, "" for everything; at most a second old."""
    global _looked_at, _known  # noqa: PLW0603  (one look for the whole process)
    with _lock:
        instant = time.monotonic()
        if instant - _looked_at >= LOOKED_AT_EVERY:
            _known = {pause.pipeline_name: pause for pause in Pause.objects.filter(resumed_at=None)}
            _looked_at = instant
        return _known


def of(pipeline_name: str) -> Pause | None:
    """Why nothing of the pipeline may begin; None when it may."""
    known = in_force()
    return known.get(EVERYTHING) or known.get(pipeline_name)


def allowed() -> Q:
    """The runs that may begin something, as a filter."""
    paused = in_force()
    if EVERYTHING in paused:
        return Q(pk__in=[])
    return ~Q(pipeline_name__in=list(paused)) if paused else Q()


def forget() -> None:
    """Look anew at the next question."""
    global _looked_at  # noqa: PLW0603
    with _lock:
        _looked_at = float("-inf")


def told(pause: Pause) -> str:
    """By whom, since when and why, as the end of a sentence."""
    why = f", because: {pause.reason}" if pause.reason else ""
    return f"by {pause.by} since {pause.since:%Y-%m-%d %H:%M} UTC{why}"


def sentence(pause: Pause) -> str:
    """What is paused, by whom, since when and why."""
    return f"{pause.pipeline_name or 'Everything'} is paused {told(pause)}"


def pause(pipeline_name: str, *, by: str, reason: str, now: datetime) -> Pause:
    """Pause one pipeline, or EVERYTHING. Other processes know within a second. Raises AlreadyPaused, NoSuchPipeline."""
    if pipeline_name != EVERYTHING and not _exists(pipeline_name):
        raise NoSuchPipeline(f"There is no pipeline {pipeline_name}.")
    made = Pause(pipeline_name=pipeline_name, by=by, reason=storable_reason(reason.strip()), since=now)
    try:
        transactions.write(lambda: _insert(made))
    except IntegrityError:
        other = Pause.objects.filter(pipeline_name=pipeline_name, resumed_at=None).first()
        if other is None:  # resumed in this very moment
            return pause(pipeline_name, by=by, reason=reason, now=now)
        raise AlreadyPaused(other) from None
    finally:
        forget()
    return made


def resume(pipeline_name: str, *, by: str, now: datetime) -> None:
    """Let go on what waited; the next look of the sweeper, within a second, hands it out. Raises NotPaused."""
    open_ = Pause.objects.filter(pipeline_name=pipeline_name, resumed_at=None)
    resumed = transactions.write(lambda: open_.update(resumed_at=now, resumed_by=by))
    forget()
    if not resumed:
        raise NotPaused(f"{pipeline_name} is not paused." if pipeline_name else "Nothing is paused as a whole.")


def _insert(made: Pause) -> None:
    made.pk = None
    with transaction.atomic():
        made.save(force_insert=True)


def _exists(pipeline_name: str) -> bool:
    if "\x00" in pipeline_name:
        return False
    return (
        Pipeline.objects.filter(name=pipeline_name).exists() or Run.objects.filter(pipeline_name=pipeline_name).exists()
    )
