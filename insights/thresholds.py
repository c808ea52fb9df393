"""Where should the threshold be? What other thresholds would have done to the answers whose outcome is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calibration.curves import PERCENTS, Point, risk_coverage
from calibration.intervals import Interval
from calibration.models import Sample
from calibration.plurals import plural
from calibration.summary import SHOWN, Stage, Summary
from insights.strip import interval_range
from runs.trust.percent import edge
from runs.views.wording import percent

MOST = 5_000
STEP = 5  # of the points, one in so many stands in the table


@dataclass(frozen=True)
class Explorer:
    """``points`` by threshold, 0 to 100 % and the current one. ``newest_only``: older labels were left out."""

    points: Sequence[Point]
    n: int
    wrong: int
    current: float | None
    newest_only: bool

    @property
    def table(self) -> list[Point]:
        """The points worth a row: every STEP per cent, the current threshold, and none that repeats the one before."""
        rows: list[Point] = []
        for index, point in enumerate(self.points):
            same = bool(rows) and rows[-1].to_person_n == point.to_person_n
            here = point.threshold == self.current
            if here or (not same and (index % STEP == 0 or point.threshold == 1.0)):
                rows.append(point)
        return rows

    @property
    def told(self) -> str:
        """The sentence of the threshold in force; "" when it is not known."""
        return next((self.tell(point) for point in self.points if point.threshold == self.current), "")

    def tell(self, point: Point) -> str:
        """What a gate at this threshold would have done, in a sentence."""
        share = _share(point.to_person_n, self.n, point.to_person_interval)
        person = f"{point.to_person_n} of {plural(self.n, 'answer')} {share}"
        caught = "none of them was wrong"
        if self.wrong:
            share = _share(point.wrong_caught, self.wrong, point.caught_interval)
            caught = f"{point.wrong_caught} of the {self.wrong} wrong ones {share} would have been caught"
        told = f"At {edge(point.threshold)}%, {person} would have gone to a person; {caught}."
        if point.accuracy_of_passed is None:
            return f"{told} Nothing would have been let through."
        right = f"{percent(point.accuracy_of_passed)} right ({interval_range(point.interval)})"
        return f"{told} Those let through were {right}."

    def chart(self) -> dict[str, Any]:
        """As the script reads it: per threshold the share let through, how right that was, and the sentence."""
        return {
            "current": self.current,
            "points": [
                {
                    "threshold": point.threshold,
                    "passed": point.passed_n / self.n,
                    "accuracy": point.accuracy_of_passed,
                    "interval": point.interval,
                    "told": self.tell(point),
                }
                for point in self.points
            ],
        }


def explore(summary: Summary, *, stage: Stage, current: float | None) -> Explorer | None:
    """The explorer of one bucket's labels; None without any. One query, of at most MOST labels."""
    pairs = _pairs(summary, stage) if summary.total_n else []
    thresholds = sorted({*PERCENTS, *([] if current is None else [current])})
    points = risk_coverage(pairs, thresholds=thresholds)
    if not points:
        return None
    wrong = points[0].wrong_caught + points[0].wrong_passed
    return Explorer(points, len(pairs), wrong, current, newest_only=summary.total_n > len(pairs))


def _pairs(summary: Summary, stage: Stage) -> list[tuple[float, float]]:
    labelled = Sample.objects.filter(
        bucket_id=summary.bucket_id, stage__in=SHOWN[stage], is_replay=False, label__isnull=False
    )
    if summary.total_n > MOST:
        labelled = labelled.order_by("-observed_at")[:MOST]
    # From the whole parts per million that bins are made of: they alone are in the index, and exact.
    return [
        (ppm / 1_000_000, label) for ppm, label in labelled.values_list("confidence_ppm", "label") if label is not None
    ]


def _share(part: int, whole: int, interval: Interval | None) -> str:
    return f"({percent(part / whole)}, {interval_range(interval)})"
