"""The record of each bucket, and of each step: what it claims, and how often it is right."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from calibration.flags import POINTS, Flag
from calibration.models import Bucket
from calibration.plurals import plural
from calibration.summary import Stage, Summary, summaries
from insights.measures import Share, accuracy
from insights.recent import in_use, last_seen


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
            bins = plural(self.validated, "bin has", "bins have")
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


def step_records(*, stage: Stage, bin_width: float, n_min: int, bucket_ids: Collection[int]) -> list[StepRecord]:
    """The steps of these buckets, by name. Three queries."""
    found = summaries(stage=stage, bin_width=bin_width, n_min=n_min, bucket_ids=bucket_ids)
    seen = last_seen(Bucket.objects.filter(pk__in=bucket_ids))
    used = in_use(((one.bucket_id, one.key.step, one.key.agent) for one in found), seen)
    by_step: dict[str, list[Record]] = {}
    for summary in found:
        record = Record(summary, seen.get(summary.bucket_id), summary.bucket_id in used, n_min)
        by_step.setdefault(summary.key.step, []).append(record)
    return [StepRecord(name, sorted(records, key=_most_telling)) for name, records in by_step.items()]


def _most_telling(record: Record) -> tuple[bool, bool, float, int, int]:
    worst = record.worst
    wide = (not worst.supported, -worst.gap) if worst else (True, 0.0)
    return (not record.in_use, *wide, -record.summary.total_n, record.summary.bucket_id)
