"""How the marks behind an accuracy came about: only a random choice of answers gives an unbiased sample."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count

from calibration.models import Mark, Order, Sample

MOST = 5_000


@dataclass(frozen=True)
class Orders:
    """How many current marks each order offered; ``blind`` of them were made without seeing the machine's numbers."""

    counts: Mapping[str, int]
    blind: int

    @property
    def n(self) -> int:
        return sum(self.counts.values())

    @property
    def sentence(self) -> str:
        """What it means for the accuracy; "" without a mark."""
        if not self.n:
            return ""
        random = self.counts.get(Order.RANDOM.value, 0)
        if random == self.n:
            return f"All {self.n} marks were on answers chosen at random: the accuracy is unbiased."
        told = ", ".join(f"{count} {Order(order).label}" for order, count in self.counts.items())
        if not random:
            return f"None of the {self.n} marks was on an answer chosen at random ({told}), so the accuracy may lean."
        return f"Of {self.n} marks, {random} were on answers chosen at random ({told}); the others may lean."


def orders_of(bucket_id: int) -> Orders:
    """Of the bucket's marked answers, at most MOST. One query."""
    marked = Sample.objects.filter(bucket_id=bucket_id, label__isnull=False, is_replay=False).values("id")[:MOST]
    rows = (
        Mark.objects.filter(is_current=True, sample_id__in=marked)
        .values_list("offered_by", "was_blind")
        .annotate(count=Count("id"))
        .order_by()
    )
    counts: dict[str, int] = {}
    blind = 0
    for order, was_blind, count in rows:
        counts[order] = counts.get(order, 0) + count
        blind += count if was_blind else 0
    return Orders(dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))), blind)
