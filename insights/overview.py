"""Every step with the records of its buckets, the most miscalibrated first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from calibration.flags import POINTS, Flag
from calibration.models import Bucket
from calibration.summary import Stage, Summary, summaries
from insights.measures import Share, accuracy
from insights.recent import last_seen

SHOW = {"flagged": "With a flag", "validated": "With a validated bin", "unmarked": "Without any label"}


@dataclass(frozen=True)
class Record:
    """One bucket. ``in_use``: of its step and agent, it is the one that answered last."""

    summary: Summary
    last_seen: datetime | None
    in_use: bool
    n_min: int

    @cached_property
    def validated(self) -> int:
        return sum(one.validated for one in self.summary.bins)

    @cached_property
    def said(self) -> float | None:
        """The mean confidence of all labelled answers; None without any."""
        n = self.summary.total_n
        return sum(one.n * (one.mean_confidence or 0.0) for one in self.summary.bins) / n if n else None

    @cached_property
    def accuracy(self) -> Share:
        return accuracy(sum(one.n * (one.mean_label or 0.0) for one in self.summary.bins), self.summary.total_n)

    @cached_property
    def worst(self) -> Flag | None:
        """The flag that says most: one its interval supports before one it does not, then the widest."""
        return max(self.summary.flags, key=lambda one: (one.supported, one.gap), default=None)

    @cached_property
    def mostly_checks(self) -> bool:
        """Whether more than half of the labels come from failed checks, which can only say wrong."""
        return self.summary.by_failed_check * 2 > self.summary.total_n

    @cached_property
    def answer(self) -> str:
        """Is it as right as it says? The most that can be said about it in a sentence."""
        if (worst := self.worst) is not None:
            return f"{worst.sentence[:1].upper()}{worst.sentence[1:]} ({worst.support})."
        if self.validated:
            bins = "1 bin has" if self.validated == 1 else f"{self.validated} bins have"
            return f"As right as it says, as far as is known: {bins} enough labels, and none is {POINTS} points off."
        fullest = max(one.n for one in self.summary.bins)
        if fullest:
            return f"Too few labels to say: the fullest bin has {fullest}, and {self.n_min} are needed."
        return "Nobody knows yet: none of its answers has a label."


@dataclass(frozen=True)
class StepRecord:
    """A step's buckets: those in use first, then the widest flag, then the most labels."""

    name: str
    records: Sequence[Record]

    @cached_property
    def total_n(self) -> int:
        return sum(record.summary.total_n for record in self.records)

    @cached_property
    def validated(self) -> int:
        return sum(record.validated for record in self.records)

    @cached_property
    def flags(self) -> int:
        return sum(len(record.summary.flags) for record in self.records)

    @cached_property
    def worst(self) -> Flag | None:
        """Of the first record that has a flag: what is in use counts before what was replaced."""
        return next((record.worst for record in self.records if record.worst), None)


def step_records(
    *, stage: Stage, bin_width: float, n_min: int, bucket_ids: Collection[int] | None = None
) -> list[StepRecord]:
    """Every step that has a bucket (or those of ``bucket_ids``), the most miscalibrated first. Three queries."""
    found = summaries(stage=stage, bin_width=bin_width, n_min=n_min, bucket_ids=bucket_ids)
    buckets = Bucket.objects.all() if bucket_ids is None else Bucket.objects.filter(pk__in=bucket_ids)
    seen = last_seen(buckets)
    latest = _latest(found, seen)
    by_step: dict[str, list[Record]] = {}
    for summary in found:
        record = Record(summary, seen.get(summary.bucket_id), summary.bucket_id in latest, n_min)
        by_step.setdefault(summary.key.step, []).append(record)
    steps = [StepRecord(name, sorted(records, key=_most_telling)) for name, records in by_step.items()]
    return sorted(steps, key=_most_miscalibrated)


def narrowed(steps: Sequence[StepRecord], *, agent: str = "", contains: str = "", show: str = "") -> list[StepRecord]:
    """The steps that match everything given; of each, only the records of ``agent``. ``show`` is a key of SHOW."""
    found = []
    for step in steps:
        records = [record for record in step.records if not agent or record.summary.key.agent == agent]
        kept = StepRecord(step.name, records)
        if records and contains.casefold() in step.name.casefold() and _shows(kept, show):
            found.append(kept)
    return found


def _shows(step: StepRecord, show: str) -> bool:
    return {"": True, "flagged": step.flags > 0, "validated": step.validated > 0, "unmarked": step.total_n == 0}[show]


def _latest(found: Sequence[Summary], seen: Mapping[int, datetime]) -> set[int]:
    newest: dict[tuple[str, str], tuple[datetime, int]] = {}
    for summary in found:
        if (moment := seen.get(summary.bucket_id)) is not None:
            place = (summary.key.step, summary.key.agent)
            newest[place] = max(newest.get(place, (moment, 0)), (moment, summary.bucket_id))
    return {bucket_id for _, bucket_id in newest.values()}


def _most_telling(record: Record) -> tuple[bool, bool, float, int, int]:
    worst = record.worst
    wide = (not worst.supported, -worst.gap) if worst else (True, 0.0)
    return (not record.in_use, *wide, -record.summary.total_n, record.summary.bucket_id)


def _most_miscalibrated(step: StepRecord) -> tuple[int, float, int, int, str]:
    """What is in use and flagged, then what was, then steps with validated bins, then those with labels."""
    first = next((record for record in step.records if record.worst), None)
    if first is None or first.worst is None:
        return (3 if step.validated else 4, 0.0, -step.validated, -step.total_n, step.name)
    rank = 0 if first.in_use and first.worst.supported else 1 if first.in_use else 2
    return (rank, -first.worst.gap, -step.validated, -step.total_n, step.name)
