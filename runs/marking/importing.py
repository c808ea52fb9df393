"""Bringing in marks from a file: first what would change, then the change, by the same code."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from calibration.imports import OldMark, import_marks
from calibration.models import Sample
from calibration.plurals import plural
from runs.marking.items import refresh_labels, settle
from runs.marking.mark_files import Line
from runs.marking.mark_lines import BadValue, Said, understood
from runs.marking.markers import absent_marker
from runs.models import Run, Step
from runs.models.run import IN_FLIGHT

BATCH = 500
SHOWN = 100
NAMED = 20


@dataclass(frozen=True)
class Problem:
    line: int
    reason: str


@dataclass
class Outcome:
    """What an import did, or would do. ``problems`` are the first SHOWN of ``bad`` lines.

    ``counting`` of the ``added`` marks count now, the others are history: their maker has said
    something newer. ``known`` stood there already. ``absent`` lines are about steps or runs that
    are not here. ``new_markers`` are names that nobody has yet.
    """

    lines: int = 0
    added: int = 0
    counting: int = 0
    known: int = 0
    relabelled: int = 0
    absent: int = 0
    bad: int = 0
    new_markers: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def sentences(self, *, foretold: bool) -> list[str]:
        """What was done, or would be (``foretold``), in plain words."""
        would = "would be " if foretold else ""
        told = [
            f"{plural(self.lines, 'line')}: {plural(self.added, 'mark')} {would}added, {self.known:,} known already."
        ]
        if self.added > self.counting:
            told.append(f"{self.added - self.counting:,} of those added are history: their maker said something newer.")
        told.append(f"{plural(self.relabelled, 'label')} {would}changed.")
        if self.absent:
            told.append(f"{plural(self.absent, 'line')} about runs or steps that are not here.")
        if self.new_markers:
            names = ", ".join(sorted(self.new_markers)[:NAMED])
            more = f" and {len(self.new_markers) - NAMED:,} more" if len(self.new_markers) > NAMED else ""
            told.append(f"Accounts that cannot sign in {would}made for {names}{more}.")
        return told

    def complain(self, line: int, reason: str) -> None:
        self.bad += 1
        if len(self.problems) < SHOWN:
            self.problems.append(Problem(line, reason))


@dataclass(frozen=True)
class Place:
    """What a line marks: a step, or a run as a whole."""

    run_id: UUID
    step_id: UUID | None


class _DryRun(Exception):
    """Takes a batch back."""


def import_lines(
    lines: Iterable[Line], *, by: str, now: datetime, dry_run: bool, skip_absent: bool = False
) -> Iterator[Outcome]:
    """Import in batches of BATCH lines, each one transaction; yields the same Outcome, filled further, after each.

    With ``dry_run`` each batch is taken back, so what it tells is what an import would do (marks of one
    person on one step that are more than BATCH lines apart are counted apart). A line that cannot be
    used changes nothing and is told. Lines that name no marker are said by the user called ``by``, those
    without a time ``now``.
    Raises BadFile from ``lines``: what the batches before did stays, and the same file again adds nothing twice.
    """
    outcome = Outcome()
    rest = iter(lines)
    while batch := list(islice(rest, BATCH)):
        outcome.lines += len(batch)
        said = list(_understood(batch, outcome, now))
        try:
            with transaction.atomic():
                _import(said, outcome, by=by, now=now, skip_absent=skip_absent)
                if dry_run:
                    raise _DryRun
        except _DryRun:
            pass
        yield outcome


def _understood(batch: Sequence[Line], outcome: Outcome, now: datetime) -> Iterator[Said]:
    for line in batch:
        try:
            yield understood(line, now=now)
        except BadValue as error:
            outcome.complain(line.number, str(error))


def _import(said: Sequence[Said], outcome: Outcome, *, by: str, now: datetime, skip_absent: bool) -> None:
    places = _places(said, outcome, skip_absent=skip_absent)
    said = [one for one in said if one.number in places]
    # Before the samples are locked: two imports that make the same account would else wait in a circle.
    markers = _markers({one.marker or by for one in said}, outcome)
    old = [_old_mark(one, places[one.number], markers[one.marker or by], now) for one in said]
    done = import_marks(old)
    settle({mark.sample_id for mark in old if mark.sample_id})
    for run_id in sorted({mark.group for mark in old if mark.group}):
        refresh_labels(run_id)
    outcome.added += done.added
    outcome.counting += done.current
    outcome.known += done.known
    outcome.relabelled += len(done.relabelled)


def _old_mark(said: Said, place: Place, by: User, now: datetime) -> OldMark:
    return OldMark(
        by_id=by.pk,
        sample_id=place.step_id,
        group=None if place.step_id else place.run_id,
        outcome=said.outcome,
        note=said.note,
        made_at=said.made_at or now,
        is_undated=said.made_at is None,
        undone_at=said.undone_at,
        was_blind=said.was_blind,
        offered_by=said.offered_by,
    )


def _places(said: Sequence[Said], outcome: Outcome, *, skip_absent: bool) -> dict[int, Place]:
    """By line; those that name nothing that is here and can be marked are told in ``outcome``."""
    finder = _Finder(said)
    places = {}
    for one in said:
        try:
            places[one.number] = finder.place(one)
        except LookupError as error:
            outcome.absent += 1
            if not skip_absent:
                outcome.complain(one.number, str(error))
        except BadValue as error:
            outcome.complain(one.number, str(error))
    return places


class _Finder:
    """The steps and runs that a batch of lines names, read in four queries."""

    def __init__(self, said: Sequence[Said]) -> None:
        named = {one.run_id for one in said if one.run_id and not one.step_id}
        by_id = {one.step_id for one in said if one.step_id}
        names = {one.step_name for one in said if one.step_name and not one.step_id}
        self._steps = {step.pk: step for step in Step.objects.only("id", "run_id", "name").filter(pk__in=by_id)}
        found = Step.objects.filter(run_id__in=named, name__in=names) if names else Step.objects.none()
        self._by_name = {(step.run_id, step.name): step for step in found.only("id", "run_id", "name")}
        self._runs = dict(Run.objects.filter(pk__in=named).values_list("id", "status"))
        markable = [*self._steps, *(step.pk for step in self._by_name.values())]
        self._samples = set(Sample.objects.filter(pk__in=markable).values_list("id", flat=True))

    def place(self, said: Said) -> Place:
        """Raises LookupError for what is not here, BadValue for what is here and cannot be marked."""
        if said.step_id is None and not said.step_name:
            return self._run(said)
        step = self._step(said)
        if step.pk not in self._samples:
            raise BadValue(f"step {step.name[:100]} has no confidence, so it cannot be marked")
        return Place(step.run_id, step.pk)

    def _run(self, said: Said) -> Place:
        assert said.run_id is not None  # ``understood`` refuses a line without either id
        if said.run_id not in self._runs:
            raise LookupError(f"there is no run {said.run_id} here")
        if self._runs[said.run_id] in IN_FLIGHT:
            raise BadValue(f"run {said.run_id} has not ended yet")
        return Place(said.run_id, None)

    def _step(self, said: Said) -> Step:
        if said.step_id is None:
            assert said.run_id is not None  # as above
            step = self._by_name.get((said.run_id, said.step_name))
            if step is None:
                raise LookupError(f"there is no step {said.step_name[:100]!r} of run {said.run_id} here")
            return step
        step = self._steps.get(said.step_id)
        if step is None:
            raise LookupError(f"there is no step {said.step_id} here")
        if said.run_id not in {None, step.run_id} or said.step_name not in {"", step.name}:
            raise BadValue(f"step {said.step_id} is {step.name[:100]!r} of run {step.run_id}, not what the line says")
        return step


def _markers(names: set[str], outcome: Outcome) -> dict[str, User]:
    found = {user.username: user for user in User.objects.filter(username__in=names)}
    for name in sorted(names - found.keys()):
        found[name] = absent_marker(name)
        outcome.new_markers.add(name)
    return found
