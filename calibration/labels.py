"""What really happened, and who says so: marks, and the one label each sample has.

A sample's label is stored, and rewritten in the transaction of whatever changed it: a mark on the
step, a mark on the run, or the sample's own arrival. ``resolve`` is the only place that decides it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from calibration.models import LabelSource, Mark, Outcome, Sample
from calibration.storable import storable_text

if TYPE_CHECKING:
    from django.contrib.auth.models import User

VALUES = {Outcome.CORRECT: 1.0, Outcome.PARTIAL: 0.5, Outcome.INCORRECT: 0.0}


class NoSuchSample(LookupError):
    """There is no sample with this id, so there is nothing to mark."""


@dataclass(frozen=True)
class Label:
    """``value`` in [0, 1], or None while nobody knows; the source then is "" too."""

    value: float | None
    source: str


@dataclass(frozen=True)
class Difference:
    """A stored label that is not what a fresh resolution gives."""

    sample: UUID
    stored: Label
    fresh: Label


def resolve(*, step_marks: Sequence[float], check_failed: bool, run_marks: Sequence[float]) -> Label:
    """The label from everything that is known: people on the step, else a failed check, else people on the run.

    Marks are the values (1.0, 0.5, 0.0) of the current ones; several people count as their mean.
    """
    if step_marks:
        return Label(_mean(step_marks), LabelSource.STEP_MARK.value)
    if check_failed:
        return Label(0.0, LabelSource.FAILED_CHECK.value)
    if run_marks:
        return Label(_mean(run_marks), LabelSource.RUN_MARK.value)
    return Label(None, LabelSource.NONE.value)


def mark_sample(*, sample_id: UUID, by: "User", outcome: str, note: str = "", now: datetime) -> Mark:
    """Record what ``by`` says about one sample; their earlier mark on it is kept as history.

    The label counts in the very next lookup. Raises NoSuchSample, or ValueError for an unknown outcome.
    """
    outcome = _known(outcome)
    with transaction.atomic():
        _hold_off_marks_on_groups()
        sample = Sample.objects.select_for_update().filter(pk=sample_id).first()
        if sample is None:
            raise NoSuchSample(f"no sample {sample_id}")
        mark = _supersede(Mark(by=by, sample=sample, outcome=outcome, note=storable_text(note), made_at=now))
        relabel([sample])
    return mark


def mark_group(*, group: UUID, by: "User", outcome: str, note: str = "", now: datetime) -> Mark:
    """Record what ``by`` says about a whole run; it labels the samples that nothing closer labels.

    Samples that arrive later in the same group get it too. Raises ValueError for an unknown outcome.
    """
    outcome = _known(outcome)
    with transaction.atomic():
        _hold_off_samples()
        samples = Sample.objects.select_for_update().filter(group=group).order_by("id")
        mark = _supersede(Mark(by=by, group=group, outcome=outcome, note=storable_text(note), made_at=now))
        relabel(samples)
    return mark


def relabel(samples: Iterable[Sample]) -> list[Difference]:
    """Store a fresh resolution where it differs, and say where. The caller holds the rows' locks."""
    changed = differences(samples := list(samples))
    fresh = {difference.sample: difference.fresh for difference in changed}
    stale = [sample for sample in samples if sample.pk in fresh]
    for sample in stale:
        sample.label, sample.label_source = fresh[sample.pk].value, fresh[sample.pk].source
    if stale:
        Sample.objects.bulk_update(stale, ["label", "label_source"], batch_size=200)
    return changed


def differences(samples: Sequence[Sample]) -> list[Difference]:
    """The samples whose stored label is not what their marks and checks say now. Two queries."""
    current = Mark.objects.filter(is_current=True).order_by("id")
    by_sample = _values(current.filter(sample_id__in=[sample.pk for sample in samples]), "sample_id")
    by_group = _values(current.filter(group__in={sample.group for sample in samples}), "group")
    found = []
    for sample in samples:
        fresh = resolve(
            step_marks=by_sample[sample.pk], check_failed=sample.check_failed, run_marks=by_group[sample.group]
        )
        stored = Label(sample.label, sample.label_source)
        if stored != fresh:
            found.append(Difference(sample.pk, stored, fresh))
    return found


def hold_rows(samples: QuerySet[Sample]) -> list[Sample]:
    """``samples`` locked in order of id until the transaction ends, for ``relabel``."""
    _hold_off_marks_on_groups()
    return list(samples.select_for_update().order_by("id"))


def _supersede(mark: Mark) -> Mark:
    same = Mark.objects.filter(by_id=mark.by_id, is_current=True)
    same = same.filter(group=mark.group) if mark.sample_id is None else same.filter(sample_id=mark.sample_id)
    same.update(is_current=False)
    mark.save(force_insert=True)
    return mark


def _values(marks: QuerySet[Mark], key: str) -> defaultdict[UUID, list[float]]:
    values: defaultdict[UUID, list[float]] = defaultdict(list)
    for owner, outcome in marks.values_list(key, "outcome"):
        values[owner].append(VALUES[Outcome(outcome)])
    return values


def _mean(values: Sequence[float]) -> float:
    # Sorted: floating point sums depend on their order, and the same marks must give the same label.
    return sum(sorted(values)) / len(values)


def _known(outcome: str) -> Outcome:
    try:
        return Outcome(outcome)
    except ValueError:
        raise ValueError(f"outcome: expected one of {', '.join(Outcome.values)}, not {outcome!r}") from None


def _hold_off_samples() -> None:
    """Until this transaction ends no sample can arrive, so none can miss the mark being made.

    On PostgreSQL a transaction that has inserted its sample and not yet committed would neither see
    the mark nor be seen by it. On SQLite there is only ever one write transaction.
    """
    _lock_samples("SHARE ROW EXCLUSIVE")


def _hold_off_marks_on_groups() -> None:
    """Taken before any row lock: a row lock first and this lock later could wait in a circle."""
    _lock_samples("ROW EXCLUSIVE")


def _lock_samples(mode: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {Sample._meta.db_table} IN {mode} MODE")
