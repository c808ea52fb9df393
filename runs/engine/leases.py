"""Claims on steps: a lease number that only grows, renewed while the work lasts, lost at once when overtaken."""

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db import Error, connection
from django.db.models import Case, F, TextField, Value, When
from django.utils import timezone

from calibration.statements import Statement, execute
from runs import rows
from runs.executors.base import Stop
from runs.models import Step, StepStatus
from runs.models.step import UNFINISHED

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0  # seconds between two looks at whether the leases are still ours


class LeaseLost(Exception):
    """Another worker, or a person who cancelled, owns the step now; nothing of ours may be written."""


@dataclass
class Lease:
    """The right to write a step. ``stop`` is set when it is lost, which interrupts the agent's call."""

    step_id: uuid.UUID
    number: int
    stop: Stop = field(default_factory=Stop)
    renewed: float = field(default_factory=time.monotonic)


def until(now: datetime) -> datetime:
    """When a lease taken or renewed ``now`` runs out."""
    return now + timedelta(seconds=settings.SERVICE.limits.lease_seconds)


def claim(step_id: uuid.UUID, *, now: datetime) -> Lease | None:
    """Take an unclaimed, unfinished step; None when someone else has it, it is over, or what it waits for is not."""
    taken = Step.objects.filter(id=step_id, leased=False, status__in=UNFINISHED, awaited=0).update(
        leased=True,
        lease=F("lease") + 1,
        attempts=F("attempts") + 1,
        wake_at=until(now),
        turn_taken_at=None,
        # A waiting step is being called from here on; the other states say what was interrupted.
        status=Case(
            When(status=StepStatus.PENDING, then=Value(StepStatus.RUNNING, output_field=TextField())),
            default=F("status"),
        ),
    )
    if not taken:
        return None
    # Nobody else can raise the number while the lease lasts: reading it back is safe.
    number = Step.objects.values_list("lease", flat=True).get(id=step_id)
    return Lease(step_id, number)


def fenced(lease: Lease, **fields: object) -> Statement:
    """The statement that writes the step under the lease; it raises LeaseLost when the lease is no longer ours."""

    def lost() -> None:
        lease.stop.set()
        raise LeaseLost(f"step {lease.step_id}: lease {lease.number} is over")

    where = {"id": lease.step_id, "lease": lease.number, "leased": True}
    return rows.change(Step, fields, where, otherwise=lost)


def fenced_update(lease: Lease, **fields: object) -> None:
    """Write the step under the lease at once. Raises LeaseLost when it is no longer ours."""
    execute([fenced(lease, **fields)])


class Heartbeat:
    """One thread per process that renews what the process holds and notices what it has lost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[uuid.UUID, Lease] = {}
        self._thread: threading.Thread | None = None

    @contextmanager
    def holding(self, lease: Lease) -> Iterator[Lease]:
        """Keep the lease alive while the block runs."""
        with self._lock:
            self._held[lease.step_id] = lease
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
                self._thread.start()
        try:
            yield lease
        finally:
            with self._lock:
                if self._held.get(lease.step_id) is lease:
                    del self._held[lease.step_id]

    def _run(self) -> None:
        while True:
            time.sleep(LOOK_EVERY)
            with self._lock:
                # A short step ends before its lease needs any care.
                held = [lease for lease in self._held.values() if time.monotonic() - lease.renewed >= LOOK_EVERY]
            if held:
                self.look(held)

    def look(self, held: list[Lease]) -> None:
        """Renew those of ``held`` that are ours, set the stop of those that are not."""
        try:
            self._look(held)
        except Error as error:
            logger.warning("cannot renew leases: %s", error)
            connection.close()
            for lease in held:
                if time.monotonic() - lease.renewed > settings.SERVICE.limits.lease_seconds:
                    lease.stop.set()  # by now another worker may have it

    def _look(self, held: list[Lease]) -> None:
        started = time.monotonic()
        ids = [lease.step_id for lease in held]
        ours = dict(Step.objects.filter(id__in=ids, leased=True).values_list("id", "lease"))
        renew = []
        for lease in held:
            if ours.get(lease.step_id) != lease.number:
                lease.stop.set()
            elif started - lease.renewed > settings.SERVICE.limits.lease_seconds / 3:
                renew.append(lease)
        if renew:
            wake_at = until(timezone.now())
            Step.objects.filter(id__in=[lease.step_id for lease in renew], leased=True).update(wake_at=wake_at)
            for lease in renew:
                lease.renewed = started


heartbeat = Heartbeat()
