"""Resolving every label afresh, in batches small enough not to hold up the runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from calibration.holds import hold_rows
from calibration.labels import Difference, differences, relabel
from calibration.models import Sample


@dataclass(frozen=True)
class Progress:
    """After one batch: ``done`` of ``total`` samples, and what differed in this batch."""

    done: int
    total: int
    differences: list[Difference]


def resolve_all(*, batch: int = 1000, correct: bool = True) -> Iterator[Progress]:
    """Resolve all samples in order of id, one transaction per ``batch``; with ``correct``, store what differs.

    Samples that arrive meanwhile carry their own fresh label already.
    """
    total, done, after = Sample.objects.count(), 0, None
    while ids := _next_ids(after, batch):
        found = _one_batch(Sample.objects.filter(pk__gte=ids[0], pk__lte=ids[-1]), correct=correct)
        done, after = done + len(ids), ids[-1]
        yield Progress(min(done, total), total, found)


def _one_batch(samples: QuerySet[Sample], *, correct: bool) -> list[Difference]:
    # Locked for reading too: a mark made between reading samples and marks would look like a difference.
    with transaction.atomic():
        held = hold_rows(samples)
        return relabel(held) if correct else differences(held)


def _next_ids(after: UUID | None, batch: int) -> list[UUID]:
    rest = Sample.objects.all() if after is None else Sample.objects.filter(pk__gt=after)
    return list(rest.order_by("id").values_list("id", flat=True)[:batch])
