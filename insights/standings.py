"""Every step by how far it is from what it claims: light enough to order hundreds of buckets for one page."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from calibration import binning, tallies
from calibration.flags import is_far
from calibration.models import Bucket
from calibration.summary import SHOWN, Stage
from insights.recent import in_use, with_last_seen

SHOW = {"flagged": "With a flag", "validated": "With a validated bin", "unmarked": "Without any label"}


class BucketStanding(NamedTuple):
    """``widest`` is the widest gap between claim and record in a validated bin; 0 without one."""

    bucket_id: int
    agent: str
    in_use: bool
    n: int
    validated: int
    widest: float

    @property
    def is_flagged(self) -> bool:
        return is_far(self.widest)


@dataclass(frozen=True)
class StepStanding:
    """A step's buckets: those in use first, then the widest gap, then the most labels."""

    name: str
    buckets: Sequence[BucketStanding]

    @cached_property
    def total_n(self) -> int:
        return sum(one.n for one in self.buckets)

    @cached_property
    def validated(self) -> int:
        return sum(one.validated for one in self.buckets)

    @cached_property
    def flagged(self) -> BucketStanding | None:
        """The first that is far from what it claims: what is in use counts before what was replaced."""
        return next((one for one in self.buckets if one.is_flagged), None)


def step_standings(*, stage: Stage, bin_width: float, n_min: int) -> list[StepStanding]:
    """Every step that has a bucket, the most miscalibrated first. Two queries."""
    found = tallies.standings(stages=SHOWN[stage], bins=binning.bins_of(bin_width), n_min=n_min)
    buckets = list(with_last_seen(Bucket.objects.all()).values_list("id", "step", "agent", "seen"))
    rows = [row[:3] for row in buckets]
    used = in_use(rows, {row[0]: row[3] for row in buckets if row[3] is not None})
    by_step: dict[str, list[BucketStanding]] = {}
    for bucket_id, step, agent in rows:
        known = found.get(bucket_id, tallies.Standing())
        by_step.setdefault(step, []).append(BucketStanding(bucket_id, agent, bucket_id in used, *known))
    steps = [StepStanding(name, sorted(buckets, key=_most_telling)) for name, buckets in by_step.items()]
    return sorted(steps, key=_most_miscalibrated)


def narrowed(
    steps: Sequence[StepStanding], *, agent: str = "", contains: str = "", show: str = ""
) -> list[StepStanding]:
    """The steps that match everything given; of each, only the buckets of ``agent``. ``show`` is a key of SHOW."""
    found = []
    for step in steps:
        buckets = [one for one in step.buckets if not agent or one.agent == agent]
        kept = StepStanding(step.name, buckets)
        if buckets and contains.casefold() in step.name.casefold() and _shows(kept, show):
            found.append(kept)
    return found


def _shows(step: StepStanding, show: str) -> bool:
    shown = {"flagged": step.flagged is not None, "validated": step.validated > 0, "unmarked": step.total_n == 0}
    return not show or shown[show]


def _most_telling(one: BucketStanding) -> tuple[bool, float, int, int]:
    return (not one.in_use, -one.widest if one.is_flagged else 0.0, -one.n, one.bucket_id)


def _most_miscalibrated(step: StepStanding) -> tuple[int, float, int, int, str]:
    """What is in use and flagged, then what was, then steps with validated bins, then those with labels."""
    rest = (-step.validated, -step.total_n, step.name)
    if step.flagged is not None:
        return (0 if step.flagged.in_use else 1, -step.flagged.widest, *rest)
    return (2 if step.validated else 3, 0.0, *rest)
