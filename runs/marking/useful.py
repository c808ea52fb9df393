"""Most useful first: which marks would tell most about an agent's record.

A bin one mark short of ``n_min`` is the closest to being believed, so its steps come first; of bins that lack
equally many, the one whose accuracy is least sure. Bins that are validated already come after all others, the
least sure first. Only bins that the newest waiting steps fall into take part: the record of a prompt or model
that no longer runs needs no more marks.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from calibration import buckets
from calibration.binning import bin_of
from calibration.intervals import wilson
from runs.models import QueueItem

NEWEST = 300
Bin = tuple[int, int]  # the bucket's id and the bin's index


@dataclass(frozen=True)
class Standing:
    """What is known about one bin: ``n`` labels of the ``n_min`` it needs, and how wide their interval is (0 to 1)."""

    lo: float
    hi: float
    n: int
    n_min: int
    width: float

    @property
    def rank(self) -> tuple[int, float]:
        """The lowest is the most useful."""
        return max(0, self.n_min - self.n) or self.n_min + 1, -self.width

    @property
    def reason(self) -> str:
        return f"{self._marks} for answers as sure as this one, {self._so}."

    @property
    def bin_reason(self) -> str:
        return f"{self._marks} for answers of {self.lo:.0%} to {self.hi:.0%} confidence, {self._so}."

    @property
    def _marks(self) -> str:
        return f"There {'is' if self.n == 1 else 'are'} {self.n or 'no'} label{'' if self.n == 1 else 's'}"

    @property
    def _so(self) -> str:
        if self.n < self.n_min:
            return f"and it takes {self.n_min} to believe them"
        return f"which leave {self.width * 100:.0f} points between the bounds of their accuracy"


def in_line(waiting: QuerySet[QueueItem], left: UUID | None, *, backwards: bool = False) -> Sequence[QueueItem]:
    """The newest of ``waiting``, the most useful first; after ``left`` (before it) if that is still among them."""
    window = list(waiting.order_by("-finished_at", "-step_id")[:NEWEST])
    standings = _standings({_bin(item) for item in window})
    line = sorted(window, key=lambda item: standings[_bin(item)].rank)  # stable: the newest first within a bin
    if backwards:
        line.reverse()
    places = [place for place, item in enumerate(line) if item.step_id == left]
    start = places[0] + 1 if places else 0
    return line[start:] + line[:start]


def standing_of(item: QueueItem) -> Standing:
    """Of the bin that the item's step falls into."""
    return _standings([_bin(item)])[_bin(item)]


def _bin(item: QueueItem) -> Bin:
    return item.bucket_id, bin_of(item.confidence_ppm, settings.SERVICE.calibration.bin_width)


def _standings(bins: Collection[Bin]) -> dict[Bin, Standing]:
    service = settings.SERVICE.calibration
    found = {}
    for bucket, index in bins:
        middle = (index + 0.5) * service.bin_width
        known = buckets.lookup(
            bucket, middle, n_min=service.n_min, bin_width=service.bin_width, evidence=service.evidence
        )
        interval = wilson(known.accuracy, known.n) if known.accuracy is not None else None
        width = interval.hi - interval.lo if interval else 1.0
        found[bucket, index] = Standing(known.lo, known.hi, known.n, service.n_min, width)
    return found
