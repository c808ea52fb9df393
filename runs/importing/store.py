"""Storing runs that happened elsewhere: each batch in one transaction, nothing twice."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from calibration import buckets
from calibration.buckets import BucketKey
from calibration.holds import hold_off_samples
from calibration.imports import OldMark, import_marks
from calibration.models import Sample
from calibration.plurals import plural
from calibration.statements import execute
from runs import books
from runs import rows as statements
from runs.importing import records
from runs.importing.rows import Rows, rows_of, run_id, step_id
from runs.marking.items import refresh_labels, settle
from runs.marking.markers import absent_marker
from runs.models import Pipeline, PipelineVersion, Run, Step

BATCH = 100
STEPS = 500


@dataclass
class Stored:
    """What came in. ``known_runs`` were here before; ``unmarkable`` marks are on steps without a confidence."""

    runs: int = 0
    known_runs: int = 0
    steps: int = 0
    samples: int = 0
    marks: int = 0
    unmarkable: int = 0
    unexplained: int = 0

    def sentences(self) -> list[str]:
        """The same in plain words."""
        told = [
            f"{plural(self.runs, 'run')} with {plural(self.steps, 'step')} added; "
            f"{plural(self.known_runs, 'run was', 'runs were')} here already.",
            f"{plural(self.samples, 'sample')} and {plural(self.marks, 'mark')} added.",
        ]
        if self.unmarkable:
            told.append(
                f"{plural(self.unmarkable, 'mark')} left out: their step has no confidence to compare them with."
            )
        if self.unexplained:
            told.append(
                f"{plural(self.unexplained, 'step is', 'steps are')} shown without a trust report: the numbers in "
                "the file do not give the trust that was recorded. The numbers themselves are kept."
            )
        return told


def store(told: Sequence[records.Run], stored: Stored, *, now: datetime) -> None:
    """Add the runs that are not here yet, and the marks that are not, and count them in ``stored``."""
    for portion in _portions(told):
        _store(portion, stored, now=now)


def _portions(told: Sequence[records.Run]) -> Iterator[list[records.Run]]:
    """As many runs at once as have STEPS steps: others wait meanwhile, and a statement takes only so many values."""
    portion: list[records.Run] = []
    steps = 0
    for run in told:
        portion.append(run)
        steps += len(run.steps)
        if steps >= STEPS:
            yield portion
            portion, steps = [], 0
    if portion:
        yield portion


def _store(told: Sequence[records.Run], stored: Stored, *, now: datetime) -> None:
    with transaction.atomic():
        # Accounts first, then the lock on samples, then all else: others take them in this order too. The lock is the
        # strong one, since the file has samples and marks in any order: a step that ends or a colleague who marks
        # could else wait in a circle with this. A portion takes a fraction of a second.
        marker = _markers(told)
        hold_off_samples()
        fresh = [rows_of(run, now=now) for run in _unknown(told)]
        _insert(fresh)
        stored.samples += _sample(fresh)
        _mark(told, marker, stored)
        settle([step.pk for rows in fresh for _, step in rows.steps])
    stored.runs += len(fresh)
    stored.known_runs += len(told) - len(fresh)
    stored.steps += sum(len(rows.steps) for rows in fresh)
    stored.unexplained += sum(rows.unexplained for rows in fresh)


def _unknown(told: Sequence[records.Run]) -> list[records.Run]:
    """Those that are not stored yet; of two with one id the first."""
    by_id = {run_id(run): run for run in reversed(told)}
    known = set(Run.objects.filter(pk__in=by_id).values_list("id", flat=True))
    return [run for identity, run in reversed(by_id.items()) if identity not in known]


def _insert(fresh: Sequence[Rows]) -> None:
    versions = {rows.version.pk: rows.version for rows in fresh}
    PipelineVersion.objects.bulk_create(versions.values(), ignore_conflicts=True)
    known = set(
        Pipeline.objects.filter(name__in={row.name for row in versions.values()}).values_list("name", flat=True)
    )
    gone = {row.name: _without_file(row) for row in versions.values() if row.name not in known}
    Pipeline.objects.bulk_create(gone.values(), ignore_conflicts=True)
    statements.insert([rows.run for rows in fresh])
    statements.insert([step for rows in fresh for _, step in rows.steps])
    statements.insert(list(chain.from_iterable(rows.signals for rows in fresh)))
    statements.insert(list(chain.from_iterable(rows.events for rows in fresh)))
    execute(books.bookings((rows.run.team, books.day_of(rows.run.triggered_at), rows.spent) for rows in fresh))


def _without_file(version: PipelineVersion) -> Pipeline:
    """A place for the pages of a pipeline that has runs and no file here."""
    return Pipeline(
        file=f"{version.name} (imported)",
        name=version.name,
        version=version,
        present=False,
        loaded_at=version.created_at,
        changed_at=version.created_at,
    )


def _sample(fresh: Sequence[Rows]) -> int:
    samples = [
        buckets.sampling(
            id=step.pk,
            bucket_id=buckets.bucket_id(_key(step)),
            group=rows.run.pk,
            stage=rows.run.stage,
            confidence=step.effective_confidence,
            observed_at=step.completed_at,
            check_failed=told.check_failed,
            is_replay=rows.is_replay,
            claimed=step.primary_confidence,
        )
        for rows in fresh
        for told, step in rows.steps
        if step.effective_confidence is not None and step.completed_at is not None
    ]
    execute(list(chain.from_iterable(samples)))
    return len(samples)


def _key(step: Step) -> BucketKey:
    return BucketKey(
        _measured_as(step.name), step.agent, step.model, step.provider, step.prompt_hash, step.agent_version
    )


def _measured_as(name: str) -> str:
    """The branches of a fan-out do the same work on other items: they share the record of their group."""
    group, _, branch = name.rpartition("/")
    return group if group and branch.isdecimal() else name


def _mark(told: Sequence[records.Run], marker: Callable[[records.Mark], User], stored: Stored) -> None:
    on_steps = [
        _old_mark(mark, marker(mark), sample_id=step_id(run, step))
        for run in told
        for step in run.steps
        for mark in step.marks
    ]
    on_runs = [_old_mark(mark, marker(mark), group=run_id(run)) for run in told for mark in run.marks]
    named = {mark.sample_id for mark in on_steps if mark.sample_id}
    there = set(Sample.objects.filter(pk__in=named).values_list("id", flat=True))
    markable = [mark for mark in on_steps if mark.sample_id in there]
    stored.unmarkable += len(on_steps) - len(markable)
    stored.marks += import_marks([*markable, *on_runs]).added
    settle({mark.sample_id for mark in markable if mark.sample_id})
    for marked in sorted({mark.group for mark in on_runs if mark.group}):
        refresh_labels(marked)


def _markers(told: Sequence[records.Run]) -> Callable[[records.Mark], User]:
    names = {mark.marker for run in told for mark in _all_marks(run)}
    found = {user.username: user for user in User.objects.filter(username__in=names)}
    found |= {name: absent_marker(name) for name in sorted(names - found.keys())}
    return lambda mark: found[mark.marker]


def _all_marks(run: records.Run) -> Iterator[records.Mark]:
    yield from run.marks
    yield from chain.from_iterable(step.marks for step in run.steps)


def _old_mark(mark: records.Mark, by: User, *, sample_id: UUID | None = None, group: UUID | None = None) -> OldMark:
    return OldMark(
        by_id=by.pk,
        sample_id=sample_id,
        group=group,
        outcome=mark.outcome,
        note=mark.note,
        made_at=mark.made_at,
    )
