"""The answers behind a number (of a bucket, a bin, a side of a threshold, a version, an agent), newest first, each
with its run.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.http import QueryDict

from calibration import binning
from calibration.models import Bucket, LabelSource, Mark, Sample
from insights.newest import newest_first
from insights.query import share_of, width_of
from insights.strip import percent_range
from runs.marking import counting
from runs.marking.counting import Count
from runs.models import Step
from runs.models.run import STAGES
from runs.trust.percent import edge
from runs.views.query import BadAddress, one_of, whole_number

PAGE = 50
MOST_BINS = 1_000  # as many as a service may have: nothing is drawn here
COUNTED = 10_000
# The parts of a bucket's key that an address may name, each with its column: those left out may be anything.
PARTS = {
    "step": "step",
    "agent": "agent",
    "model": "model",
    "provider": "provider",
    "prompt": "prompt_hash",
    "version": "agent_version",
}
NAMES = ("bucket", *PARTS, "bin", "width", "below", "least", "stage", "source", "since", "show", "before")
SHOW = {
    "labelled": "All with a label",
    "wrong": "Wrong",
    "right": "Right",
    "unlabelled": "Not labelled yet",
    "all": "All answers",
}
SOURCES = [value for value in LabelSource.values if value]
_WHERE = {
    "labelled": Q(label__isnull=False, is_replay=False),
    "wrong": Q(label__lt=0.5, is_replay=False),
    "right": Q(label__gt=0.5, is_replay=False),
    "unlabelled": Q(label__isnull=True, is_replay=False),
    "all": Q(),
}


@dataclass(frozen=True)
class Question:
    """Which samples are wanted; ``bin`` None is the whole bucket, ``stage`` "" both stages.

    ``parts`` are the parts of the bucket's key that were named, by the name they have in the address; "" is a part
    that was not reported. ``below`` and ``least`` are the two sides of a threshold: what it stops, and what it
    lets through. ``since`` is the id of the oldest step that counts.
    """

    bucket: int | None
    parts: Mapping[str, str]
    bin: int | None
    width: float
    below: float | None
    least: float | None
    stage: str
    source: str
    since: uuid.UUID | None
    show: str
    before: uuid.UUID | None

    @property
    def range(self) -> str:
        """What the answers say, as "80 to 90%" or "less than 75%"; "" for the whole bucket."""
        parts = [] if self.bin is None else [percent_range(*binning.edges(self.bin, self.width))]
        parts += [] if self.least is None else [f"{edge(self.least)}% or more"]
        parts += [] if self.below is None else [f"less than {edge(self.below)}%"]
        return ", ".join(parts)

    def chosen(self) -> dict[str, str]:
        """The question as it stands in a query string; the cursor left out."""
        shown = "" if self.show == "labelled" else self.show
        which = {"bucket": self.bucket, "bin": self.bin, "width": self.width, "below": self.below, "least": self.least}
        given = {**which, "stage": self.stage, "source": self.source, "since": self.since, "show": shown}
        return {**self.parts, **{name: str(value) for name, value in given.items() if value not in (None, "")}}


@dataclass(frozen=True)
class Row:
    """One sample; ``step`` is None when its step is not kept here. ``marks`` are the current ones on the step."""

    sample: Sample
    step: Step | None
    marks: Sequence[Mark]

    @property
    def outcome(self) -> str:
        """What the label says, in a word."""
        if len({mark.outcome for mark in self.marks}) > 1:
            return "mixed"
        return {None: "", 1.0: "correct", 0.5: "partial", 0.0: "incorrect"}.get(self.sample.label, "mixed")

    @property
    def source(self) -> str:
        return LabelSource(self.sample.label_source).label


def parse(query: QueryDict) -> Question:
    """Raises BadAddress naming the parameter that cannot be used and what it may be."""
    width = width_of(query, most=MOST_BINS)
    parts = {name: str(query[name]) for name in PARTS if name in query}
    return Question(
        bucket=None if parts and "bucket" not in query else whole_number(query, "bucket"),
        parts=parts,
        bin=whole_number(query, "bin", high=binning.bins_of(width) - 1) if "bin" in query else None,
        width=width,
        below=share_of(query, "below"),
        least=share_of(query, "least"),
        stage=one_of(query, "stage", STAGES),
        source=one_of(query, "source", SOURCES),
        show=one_of(query, "show", SHOW) or "labelled",
        since=_id(query, "since"),
        before=_id(query, "before"),
    )


def rows(question: Question, buckets: Sequence[Bucket]) -> tuple[list[Row], uuid.UUID | None]:
    """One page, and the cursor of the next. Raises BadAddress for a cursor that leads nowhere."""
    matching = _after(_matching(question), question, buckets)
    samples = newest_first(matching, [one.pk for one in buckets], PAGE + 1)
    shown, more = samples[:PAGE], len(samples) > PAGE
    ids = [sample.pk for sample in shown]
    steps = Step.objects.filter(pk__in=ids).select_related("run").only(*_STEP_COLUMNS).in_bulk()
    marks: dict[uuid.UUID | None, list[Mark]] = {}
    for mark in Mark.objects.filter(sample_id__in=ids, is_current=True).select_related("by").order_by("id"):
        marks.setdefault(mark.sample_id, []).append(mark)
    found = [Row(sample, steps.get(sample.pk), marks.get(sample.pk, [])) for sample in shown]
    return found, ids[-1] if more else None


_STEP_COLUMNS = (
    "id", "name", "status", "combined_trust", "confidence_threshold", "run_id", "run__pipeline_name", "run__summary",
)  # fmt: skip


def count(question: Question, buckets: Sequence[Bucket]) -> Count:
    """How many answers there are on all pages, exactly up to COUNTED."""
    matching = _matching(question).filter(bucket_id__in=[one.pk for one in buckets])
    return counting.upto(matching.order_by().values("pk"), COUNTED)


def buckets_of(question: Question) -> list[Bucket]:
    """Those that are asked about; none for a bucket, step, agent or version that nothing is known of."""
    parts = {PARTS[name]: value for name, value in question.parts.items()}
    which = parts if question.bucket is None else {**parts, "pk": question.bucket}
    return list(Bucket.objects.filter(**which).order_by("id"))


def _matching(question: Question) -> "QuerySet[Sample]":
    samples = Sample.objects.filter(_WHERE[question.show])
    if question.since is not None:
        samples = samples.filter(pk__gte=question.since)
    if question.source:
        samples = samples.filter(label_source=question.source)
    if question.stage:
        samples = samples.filter(stage=question.stage)
    if question.bin is not None:
        start, below = binning.ppm_range(question.bin, question.width)
        samples = samples.filter(confidence_ppm__gte=start, confidence_ppm__lt=below)
    if question.below is not None:
        samples = samples.filter(confidence_ppm__lt=binning.least_ppm(question.below))
    if question.least is not None:
        samples = samples.filter(confidence_ppm__gte=binning.least_ppm(question.least))
    return samples


def _after(samples: "QuerySet[Sample]", question: Question, buckets: Sequence[Bucket]) -> "QuerySet[Sample]":
    if question.before is None:
        return samples
    at = Sample.objects.filter(pk=question.before, bucket__in=buckets).values_list("observed_at", flat=True)
    if (moment := at.first()) is None:
        raise BadAddress("before must be the id of an answer in this list.")
    # The first condition bounds the walk through the index; the second breaks ties.
    return samples.filter(observed_at__lte=moment).exclude(observed_at=moment, id__gte=question.before)


def _id(query: QueryDict, name: str) -> uuid.UUID | None:
    given = query.get(name, "")
    try:
        return uuid.UUID(given) if given else None
    except ValueError as error:
        raise BadAddress(f"{name} must be the id of an answer.") from error
