"""What really happened, and who says so: marks, and the one label each sample has.

A sample's label is stored, and rewritten in the transaction of whatever changed it: a mark on the
step, a mark on the run, or the sample's own arrival. ``resolve`` is the only place that decides it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from django.db import models, transaction
from django.db.models import QuerySet

from calibration import tallies, turns
from calibration.holds import hold_group, hold_rows
from calibration.models import LabelSource, Mark, Order, Outcome, Sample, Via
from calibration.storable import storable_text

if TYPE_CHECKING:
    from django.contrib.auth.models import User

Choice = TypeVar("Choice", bound=models.TextChoices)
VALUES = {Outcome.CORRECT: 1.0, Outcome.PARTIAL: 0.5, Outcome.INCORRECT: 0.0}


class NoSuchSample(LookupError):
    """There is no sample with this id, so there is nothing to mark."""


class CannotUndo(ValueError):
    """Only one's own mark that counts now can be undone; the message says what is in the way."""


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


def mark_sample(
    *,
    sample_id: UUID,
    by: "User",
    outcome: str,
    note: str = "",
    was_blind: bool | None = None,
    via: str,
    offered_by: str = "",
    now: datetime,
) -> Mark:
    """Record what ``by`` says about one sample; their earlier mark on it is kept as history.

    The label counts in the very next lookup. The same outcome and note again (a double submit)
    changes nothing and returns the mark that stands. Raises NoSuchSample, or ValueError for an
    unknown outcome, way or order.
    """
    said = _checked(outcome=outcome, note=note, via=via, offered_by=offered_by)
    mark = Mark(by=by, sample_id=sample_id, was_blind=was_blind, made_at=now, **said)
    with transaction.atomic():
        samples = _hold(mark)
        if not samples:
            raise NoSuchSample(f"no sample {sample_id}")
        return _store(mark, samples)


def mark_samples(
    *,
    sample_ids: Collection[UUID],
    by: "User",
    outcome: str,
    note: str = "",
    was_blind: bool | None = None,
    via: str,
    now: datetime,
) -> list[Mark]:
    """The same judgement of many samples, in a number of queries that does not depend on how many.

    Otherwise as ``mark_sample`` for each of them; a sample that has this very mark already keeps it.
    Raises NoSuchSample, and then marks none, when one of them does not exist; or ValueError.
    """
    said = _checked(outcome=outcome, note=note, via=via, offered_by=Order.PICKED)
    with transaction.atomic():
        samples = hold_rows(Sample.objects.filter(pk__in=sample_ids))
        if missing := set(sample_ids).difference(sample.pk for sample in samples):
            raise NoSuchSample(f"no sample {min(missing)}")
        current = Mark.objects.filter(by=by, is_current=True, sample__in=samples)
        same = set(current.filter(outcome=said["outcome"], note=said["note"]).values_list("sample_id", flat=True))
        changed = [sample for sample in samples if sample.pk not in same]
        current.filter(sample__in=changed).update(is_current=False)
        marks = [Mark(by=by, sample=sample, was_blind=was_blind, made_at=now, **said) for sample in changed]
        Mark.objects.bulk_create(marks)
        relabel(changed)
    return marks


def mark_group(
    *,
    group: UUID,
    by: "User",
    outcome: str,
    note: str = "",
    was_blind: bool | None = None,
    via: str,
    offered_by: str = "",
    now: datetime,
) -> Mark:
    """Record what ``by`` says about a whole run; it labels the samples that nothing closer labels.

    Samples that arrive later in the same group get it too. A double submit is one mark, as with
    ``mark_sample``. Raises ValueError for an unknown outcome, way or order.
    """
    said = _checked(outcome=outcome, note=note, via=via, offered_by=offered_by)
    mark = Mark(by=by, group=group, was_blind=was_blind, made_at=now, **said)
    with transaction.atomic():
        return _store(mark, _hold(mark))


def undo_mark(*, mark_id: int, by: "User", now: datetime) -> Mark:
    """Take back a mark of one's own; the one it superseded, if any, counts again.

    The undone mark stays readable. Raises CannotUndo for a mark of somebody else, or one that does
    not count any more.
    """
    mark = Mark.objects.filter(pk=mark_id, by=by).first()
    if mark is None:
        raise CannotUndo("you have made no such mark")
    with transaction.atomic():
        samples = _hold(mark)
        # Again, under the lock: in another window it may have been undone or superseded meanwhile.
        if not Mark.objects.filter(pk=mark_id, is_current=True).update(is_current=False, undone_at=now):
            raise CannotUndo("this mark was undone or replaced already")
        mark.refresh_from_db()
        standing = [one for one in _same_thing(mark).filter(undone_at=None) if one.by_id == mark.by_id]
        if standing:
            earlier = max(standing, key=lambda one: (one.made_at, one.pk))
            Mark.objects.filter(pk=earlier.pk).update(is_current=True)
        relabel(samples)
    return mark


def relabel(samples: Iterable[Sample]) -> list[Difference]:
    """Store a fresh resolution where it differs, tallies and turns too, and say where. The caller holds the rows."""
    changed = differences(samples := list(samples))
    fresh = {difference.sample: difference.fresh for difference in changed}
    stale = [sample for sample in samples if sample.pk in fresh]
    change = tallies.Change()
    for sample in stale:
        change.take(sample)
        sample.label, sample.label_source = fresh[sample.pk].value, fresh[sample.pk].source
        change.add(sample)
    if stale:
        Sample.objects.bulk_update(stale, ["label", "label_source"], batch_size=200)
        change.store()
        turns.follow(stale)
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


def _checked(*, outcome: str, note: str, via: str, offered_by: str) -> dict[str, str]:
    return {
        "outcome": _known(Outcome, "outcome", outcome),
        "note": storable_text(note),
        "via": _known(Via, "via", via),
        "offered_by": _known(Order, "offered_by", offered_by),
    }


def _store(mark: Mark, samples: list[Sample]) -> Mark:
    """Add ``mark`` to those of its person on the same thing, and relabel. The rows are held."""
    current = _same_thing(mark).filter(by_id=mark.by_id, is_current=True).first()
    if current is not None:
        if (current.outcome, current.note) == (mark.outcome, mark.note):
            return current
        Mark.objects.filter(pk=current.pk).update(is_current=False)
    mark.save(force_insert=True)
    relabel(samples)
    return mark


def _same_thing(mark: Mark) -> QuerySet[Mark]:
    """All marks on the same sample or group, of anybody.

    Few people mark one thing. Asked for one person's, SQLite would read everything they ever marked.
    """
    if mark.sample_id is None:
        return Mark.objects.filter(group=mark.group)
    return Mark.objects.filter(sample_id=mark.sample_id)


def _hold(mark: Mark) -> list[Sample]:
    """The samples it is about, locked."""
    if mark.group is not None:
        return hold_group(mark.group)
    return hold_rows(Sample.objects.filter(pk__in=[mark.sample_id]))


def _values(marks: QuerySet[Mark], key: str) -> defaultdict[UUID, list[float]]:
    values: defaultdict[UUID, list[float]] = defaultdict(list)
    for owner, outcome in marks.values_list(key, "outcome"):
        values[owner].append(VALUES[Outcome(outcome)])
    return values


def _mean(values: Sequence[float]) -> float:
    # Sorted: floating point sums depend on their order, and the same marks must give the same label.
    return sum(sorted(values)) / len(values)


def _known(choices: type[Choice], name: str, given: str) -> Choice:
    try:
        return choices(given)
    except ValueError:
        raise ValueError(f"{name}: expected one of {', '.join(choices.values)}, not {given!r}") from None
