"""How the runs of each pipeline went."""

from collections import defaultdict
from dataclasses import dataclass, field

from django.db.models import Count, OuterRef, Subquery, Sum

from calibration.models import Sample
from insights.measures import Share, accuracy, success
from insights.windows import Window
from runs.models import Run


@dataclass
class PipelineRow:
    name: str
    statuses: dict[str, int] = field(default_factory=dict)
    label_sum: float = 0.0
    labelled: int = 0

    @property
    def runs(self) -> int:
        return sum(self.statuses.values())

    @property
    def success(self) -> Share:
        return success(self.statuses)

    @property
    def accuracy(self) -> Share:
        return accuracy(self.label_sum, self.labelled)


def pipeline_rows(window: Window) -> list[PipelineRow]:
    """The busiest first. Two statements, whatever the number of pipelines."""
    rows: dict[str, PipelineRow] = {}
    counts = window.of(Run.objects.all()).values_list("pipeline_name", "status").annotate(n=Count("id")).order_by()
    for name, status, n in counts:
        rows.setdefault(name, PipelineRow(name)).statuses[status] = n
    for name, (n, label_sum) in _labels(window).items():
        if name in rows:
            rows[name].labelled, rows[name].label_sum = n, label_sum
    return sorted(rows.values(), key=lambda row: (-row.runs, row.name))


def _labels(window: Window) -> dict[str, tuple[int, float]]:
    """How many answers of each pipeline are labelled, and the sum of their labels; replays are left out."""
    name = Run.objects.filter(id=OuterRef("group")).values("pipeline_name")
    samples = window.of(Sample.objects.filter(label__isnull=False, is_replay=False)).annotate(pipeline=Subquery(name))
    found: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for pipeline, n, label_sum in samples.values_list("pipeline").annotate(n=Count("id"), sum=Sum("label")).order_by():
        found[pipeline] = (n, label_sum)
    return found
