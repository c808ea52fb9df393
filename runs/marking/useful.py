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

from calibration.binning import bin_of, edges
from calibration.intervals import wilson
from calibration.plurals import plural
from calibration.standings import Place, Standing, standings
from runs.models import QueueItem

NEWEST = 300


@dataclass(frozen=True)
class Need:
    """What a bin lacks: it has ``n`` labels of the ``n_min`` it needs, their interval is ``width`` wide (0 to 1)."""

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
        return f"There {'is' if self.n == 1 else 'are'} {plural(self.n, 'label') if self.n else 'no labels'}"

    @property
    def _so(self) -> str:
        if self.n < self.n_min:
            return f"and it takes {self.n_min} to believe them"
        return f"which leave {self.width * 100:.0f} points between the bounds of their accuracy"


def in_line(waiting: QuerySet[QueueItem], left: UUID | None, *, backwards: bool = False) -> Sequence[UUID]:
    """The newest of ``waiting``, the most useful first; after ``left`` (before it) if that is still among them."""
    newest = waiting.order_by("-finished_at", "-step_id").values_list("step_id", "bucket_id", "confidence_ppm")[:NEWEST]
    width = settings.SERVICE.calibration.bin_width
    window = {step_id: Place(bucket, bin_of(ppm, width)) for step_id, bucket, ppm in newest}
    needs = _needs(set(window.values()))
    line = sorted(window, key=lambda step_id: needs[window[step_id]].rank)  # stable: the newest first within a bin
    if backwards:
        line.reverse()
    start = line.index(left) + 1 if left in window else 0
    return line[start:] + line[:start]


def need_of(item: QueueItem) -> Need:
    """Of the bin that the item's step falls into."""
    place = Place(item.bucket_id, bin_of(item.confidence_ppm, settings.SERVICE.calibration.bin_width))
    return _needs({place})[place]


def _needs(places: Collection[Place]) -> dict[Place, Need]:
    service = settings.SERVICE.calibration
    found = standings(places, bin_width=service.bin_width, evidence=service.evidence)
    return {place: _need(place, standing, service.bin_width, service.n_min) for place, standing in found.items()}


def _need(place: Place, standing: Standing, bin_width: float, n_min: int) -> Need:
    interval = None if standing.accuracy is None else wilson(standing.accuracy, standing.n)
    width = 1.0 if interval is None else interval.hi - interval.lo
    return Need(*edges(place.bin, bin_width), standing.n, n_min, width)
