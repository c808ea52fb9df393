"""Celery's way in: a task takes an id and makes one call."""

import uuid
from contextlib import suppress

from celery import shared_task
from django.utils import timezone

from runs import books
from runs.deliveries import due, sending
from runs.demo.alone import AlreadyAtIt
from runs.demo.making import make
from runs.demo.pipelines import is_wanted
from runs.engine import drive, sweeper
from runs.engine import snapshot as snapshots
from runs.engine.work import Kind, Work
from runs.escalations import overdue
from runs.schedules import ticking


@shared_task
def do(kind: Kind, id: str) -> None:
    if kind == "delivery":
        sending.perform(uuid.UUID(id))
    else:
        drive.perform(Work(kind, uuid.UUID(id)))


@shared_task
def sweep() -> None:
    sweeper.sweep()
    overdue.settle(now=timezone.now())
    ticking.run_due(now=timezone.now())
    due.look(now=timezone.now())
    books.fold()


@shared_task
def snapshot(step_id: str) -> None:
    snapshots.snapshot(uuid.UUID(step_id))


@shared_task
def make_demo() -> None:
    if is_wanted():
        with suppress(AlreadyAtIt):
            make(now=timezone.now())
