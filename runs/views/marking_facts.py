"""What the machine thought of a step, shown once its marker has said what they think."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Subquery

from calibration.models import LabelSource, Mark, Sample
from runs.models import Step
from runs.trust.narrative import narrative, percents, verdict
from runs.views.marking_trail import Stop


@dataclass(frozen=True)
class Facts:
    """``others`` are the current marks of other people; ``label`` is what counts of all that is known now.

    ``why`` names the bin that made this step useful to mark.
    """

    step: Step
    mark: Mark | None
    big: str
    verdict: str
    sentences: Sequence[str]
    others: Sequence[Mark]
    label: float | None
    label_source: str
    why: str


def own_mark(mark_id: int, user: Any) -> Mark | None:
    """The mark if it is this person's on a step."""
    return Mark.objects.filter(id=mark_id, by=user, sample__isnull=False).select_related("by").first()


def facts_of(step_id: uuid.UUID, *, own: Mark | None, marks: Sequence[Mark], stop: Stop) -> Facts | None:
    """None for a step that is gone or has no sample."""
    sample = Sample.objects.filter(pk=OuterRef("pk"))
    step: Any = (
        Step.objects.filter(id=step_id)
        .only("id", "name", "run_id", "status", "trust_report")
        .annotate(label=Subquery(sample.values("label")), label_source=Subquery(sample.values("label_source")))
        .first()
    )
    if step is None or step.label_source is None:
        return None
    report = step.trust_report or None
    big = percents(report)(report["combined_trust"]) if report and report.get("combined_trust") is not None else ""
    by = own.by_id if own else None
    return Facts(
        step=step,
        mark=own,
        big=str(big),
        verdict=verdict(report).removeprefix(f"{big} ") if report else "",
        sentences=narrative(report) if report else [],
        others=[other for other in marks if other.is_current and other.by_id != by],
        label=step.label,
        label_source=LabelSource(step.label_source).label if step.label_source else "",
        why=stop.bin_reason,
    )
