"""What people have said about a step or a run, as its page shows it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count
from django.urls import reverse

from calibration.models import LabelSource, Mark, Outcome, Sample
from runs.access.roles import can
from runs.marking import history
from runs.models import Role
from runs.views.wording import percent

STANDING = 10
_READ = 1_000
_WORDS = {1.0: "correct", 0.5: "partly correct", 0.0: "incorrect"}
NOBODY = "Nobody has marked it yet."


@dataclass(frozen=True)
class Judged:
    """``standing`` are the marks that count, newest first, ``mine`` among them; ``made`` counts those ever made."""

    kind: str
    id: UUID
    says: str
    standing: Sequence[Mark]
    mine: Mark | None
    made: int
    can_mark: bool
    outcomes = Outcome.choices

    @property
    def shown(self) -> Sequence[Mark]:
        return self.standing[:STANDING]

    @property
    def left(self) -> int:
        return len(self.standing) - len(self.shown)

    @property
    def mark_url(self) -> str:
        return reverse(f"ui-{self.kind}-mark", args=[self.id])

    @property
    def history_url(self) -> str:
        return reverse(f"ui-{self.kind}-marks", args=[self.id])


def judged_steps(step_ids: Sequence[UUID], *, user: Any) -> dict[UUID, Judged]:
    """By id, for the steps that can be marked: those with a sample. Three queries."""
    samples = list(Sample.objects.filter(pk__in=step_ids).only("label", "label_source"))
    standing: dict[UUID, list[Mark]] = defaultdict(list)
    for mark in history.current_marks(step_ids=step_ids)[:_READ]:
        assert mark.sample_id is not None  # asked for by it
        standing[mark.sample_id].append(mark)
    counts = Mark.objects.filter(sample_id__in=step_ids).values_list("sample_id").annotate(made=Count("id")).order_by()
    made = dict(counts)
    return {
        sample.pk: _judged(
            "step",
            sample.pk,
            says=_says(sample, len(standing[sample.pk])),
            standing=standing[sample.pk],
            made=made.get(sample.pk, 0),
            user=user,
        )
        for sample in samples
    }


def judged_run(run_id: UUID, *, user: Any) -> Judged:
    """The run as a whole. Two queries."""
    marks = history.marks_on_run(run_id)
    standing = list(marks.filter(is_current=True)[:_READ])
    says = "" if standing else NOBODY
    return _judged("run", run_id, says=says, standing=standing, made=marks.count(), user=user)


def _judged(kind: str, of: UUID, *, says: str, standing: Sequence[Mark], made: int, user: Any) -> Judged:
    mine = next((mark for mark in standing if mark.by_id == user.pk), None)
    return Judged(kind, of, says, standing, mine, made, can(user, Role.MARKER))


def _says(sample: Sample, marks: int) -> str:
    """The label and where it comes from."""
    if sample.label is None:
        return NOBODY
    if marks > 1:
        return f"Counts as {percent(sample.label)}, the mean of {marks} marks."
    value = _WORDS.get(sample.label, percent(sample.label))
    if sample.label_source == LabelSource.FAILED_CHECK:
        return "Counts as incorrect, because a check failed. A person's mark goes before that."
    if sample.label_source == LabelSource.RUN_MARK:
        return f"Counts as {value}, because the run as a whole was marked. A mark on the step goes before that."
    return f"Counts as {value}."
