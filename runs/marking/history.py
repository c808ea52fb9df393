"""Who has marked a step or a run how, and what became of those marks."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q, QuerySet

from calibration.models import Mark


def marks_on_step(step_id: UUID) -> QuerySet[Mark]:
    """Newest first, with their markers."""
    return _newest(Mark.objects.filter(sample_id=step_id))


def marks_on_run(run_id: UUID) -> QuerySet[Mark]:
    """Marks on the run as a whole, newest first, with their markers."""
    return _newest(Mark.objects.filter(group=run_id))


def current_marks(*, step_ids: Iterable[UUID]) -> QuerySet[Mark]:
    """The marks that count on any of these steps, one per person and step."""
    return _newest(Mark.objects.filter(sample_id__in=step_ids, is_current=True))


def before(marks: QuerySet[Mark], mark: Mark) -> QuerySet[Mark]:
    """The part of ``marks`` that comes after ``mark``, newest first."""
    return marks.filter(Q(made_at__lt=mark.made_at) | Q(made_at=mark.made_at, id__lt=mark.pk))


def _newest(marks: QuerySet[Mark]) -> QuerySet[Mark]:
    return marks.select_related("by").order_by("-made_at", "-id")
