"""The answers behind a number (of a bucket, a bin, a side of a threshold), newest first, each with its run."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.http import QueryDict

from calibration import binning
from calibration.models import Bucket, LabelSource, Mark, Sample
from insights.query import share_of, width_of
from insights.strip import percent_range
from runs.models import Step
from runs.models.run import STAGES
from runs.trust.percent import edge
from runs.views.query import BadAddress, one_of, whole_number

PAGE = 50
MOST_BINS = 1_000  # as many as a service may have: nothing is drawn here
NAMES = ("bucket", "bin", "width", "below", "least", "stage", "show", "before")
SHOW = {"labelled": "All with a label", "wrong": "Wrong", "right": "Right", "unlabelled": "Not labelled yet"}
_WHERE = {
    "labelled": Q(label__isnull=False),
    "wrong": Q(label__lt=0.5),
    "right": Q(label__gt=0.5),
    "unlabelled": Q(label__isnull=True),
}


@dataclass(frozen=True)
class Question:
    """Which samples are wanted; ``bin`` None is the whole bucket, ``stage`` "" both stages.

    ``below`` and ``least`` are the two sides of a threshold: what it stops, and what it lets through.
    """

    bucket: int
    bin: int | None
    width: float
    below: float | None
    least: float | None
    stage: str
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
        given = {**which, "stage": self.stage, "show": shown}
        return {name: str(value) for name, value in given.items() if value not in (None, "")}


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
    return Question(
        bucket=whole_number(query, "bucket"),
        bin=whole_number(query, "bin", high=binning.bins_of(width) - 1) if "bin" in query else None,
        width=width,
        below=share_of(query, "below"),
        least=share_of(query, "least"),
        stage=one_of(query, "stage", STAGES),
        show=one_of(query, "show", SHOW) or "labelled",
        before=_cursor(query.get("before", "")),
    )


def rows(question: Question) -> tuple[list[Row], uuid.UUID | None]:
    """One page, and the cursor of the next. Raises BadAddress for a cursor that leads nowhere."""
    samples = list(_after(_matching(question), question)[: PAGE + 1])
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


def bucket(pk: int) -> Bucket | None:
    return Bucket.objects.filter(pk=pk).first()


def _matching(question: Question) -> "QuerySet[Sample]":
    samples = Sample.objects.filter(_WHERE[question.show], bucket_id=question.bucket, is_replay=False)
    if question.stage:
        samples = samples.filter(stage=question.stage)
    if question.bin is not None:
        start, below = binning.ppm_range(question.bin, question.width)
        samples = samples.filter(confidence_ppm__gte=start, confidence_ppm__lt=below)
    if question.below is not None:
        samples = samples.filter(confidence_ppm__lt=binning.least_ppm(question.below))
    if question.least is not None:
        samples = samples.filter(confidence_ppm__gte=binning.least_ppm(question.least))
    return samples.order_by("-observed_at", "-id")


def _after(samples: "QuerySet[Sample]", question: Question) -> "QuerySet[Sample]":
    if question.before is None:
        return samples
    at = Sample.objects.filter(pk=question.before, bucket_id=question.bucket).values_list("observed_at", flat=True)
    if (moment := at.first()) is None:
        raise BadAddress("before must be the id of an answer in this bucket.")
    # The first condition bounds the walk through the index; the second breaks ties.
    return samples.filter(observed_at__lte=moment).exclude(observed_at=moment, id__gte=question.before)


def _cursor(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if text else None
    except ValueError as error:
        raise BadAddress("before must be the id of an answer.") from error
