"""How the runs of each pipeline went."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, OuterRef, Q, Subquery, Sum

from calibration.models import Sample
from insights.measures import Outcomes
from insights.windows import Window
from runs.models import Run, Step


@dataclass(kw_only=True)
class PipelineRow(Outcomes):
    """``timed`` runs have ended, after ``spent`` together; ``told`` have a step that reported its tokens."""

    name: str
    timed: int = 0
    spent: timedelta = timedelta()
    told: int = 0
    tokens: int = 0

    @property
    def mean_milliseconds(self) -> int | None:
        """From a run's start to its end, on average; None where none has ended."""
        return round(self.spent / timedelta(milliseconds=1) / self.timed) if self.timed else None

    @property
    def tokens_per_run(self) -> int | None:
        """Input and output of a run's agents; None where none reported any."""
        return round(self.tokens / self.told) if self.told else None


def pipeline_rows(window: Window) -> list[PipelineRow]:
    """The busiest first. Three statements, whatever the number of pipelines."""
    rows: dict[str, PipelineRow] = {}
    # Added up here: grouped by name in the database, SQLite would walk the index of names over the whole history.
    runs = window.of(Run.objects.all()).values_list("pipeline_name", "status", "started_at", "completed_at")
    for name, status, started, ended in runs.order_by("id"):
        row = rows.setdefault(name, PipelineRow(name=name))
        row.statuses[status] = row.statuses.get(status, 0) + 1
        if started is not None and ended is not None:
            row.timed += 1
            row.spent += ended - started
    for name, (n, label_sum) in _labels(window).items():
        if name in rows:
            rows[name].labelled, rows[name].label_sum = n, label_sum
    for name, told, tokens in _tokens(window):
        if name in rows:
            rows[name].told, rows[name].tokens = told, tokens
    return sorted(rows.values(), key=lambda row: (-row.count, row.name))


def _labels(window: Window) -> dict[str, tuple[int, float]]:
    """How many answers of each pipeline are labelled, and the sum of their labels; replays are left out."""
    name = Run.objects.filter(id=OuterRef("group")).values("pipeline_name")
    samples = window.of(Sample.objects.filter(label__isnull=False, is_replay=False)).annotate(pipeline=Subquery(name))
    found: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for pipeline, n, label_sum in samples.values_list("pipeline").annotate(n=Count("id"), sum=Sum("label")).order_by():
        found[pipeline] = (n, label_sum)
    return found


def _tokens(window: Window) -> list[tuple[str, int, int]]:
    """(pipeline, how many of its runs reported tokens, how many tokens)."""
    steps = Step.objects.filter(Q(input_tokens__isnull=False) | Q(output_tokens__isnull=False))
    if window.first is not None:
        steps = steps.filter(run_id__gte=window.first)
    sums = {"told": Count("run_id", distinct=True), "read": Sum("input_tokens"), "written": Sum("output_tokens")}
    found = steps.values_list("run__pipeline_name").annotate(**sums).order_by()
    return [(name, told, (read or 0) + (written or 0)) for name, told, read, written in found]
