"""Do markers agree? Answers that several people marked, read from the newest marks only."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

from django.db.models import Exists, OuterRef

from calibration.agreement import cohen_kappa, krippendorff_alpha
from calibration.labels import VALUES
from calibration.models import Mark, Outcome
from insights.measures import Share, share

WINDOW = 20_000  # marks
MOST = 2_000  # answers


@dataclass(frozen=True)
class Opinion:
    by: str
    outcome: str
    made_at: datetime

    @property
    def value(self) -> float:
        return VALUES[Outcome(self.outcome)]


@dataclass(frozen=True)
class Shared:
    """One answer and what each of its markers says of it now."""

    sample_id: uuid.UUID
    step: str
    opinions: Sequence[Opinion]

    @property
    def agree(self) -> bool:
        return len({opinion.outcome for opinion in self.opinions}) == 1

    @property
    def newest(self) -> datetime:
        return max(opinion.made_at for opinion in self.opinions)


@dataclass(frozen=True)
class Pair:
    """Two markers: how often they said the same, and Cohen's kappa (None where it says nothing)."""

    first: str
    second: str
    same: Share
    kappa: float | None


@dataclass(frozen=True)
class Agreement:
    """``nominal`` and ``ordinal`` are Krippendorff's alpha; None where there is nothing to compare."""

    answers: Sequence[Shared]
    same: Share
    nominal: float | None
    ordinal: float | None
    pairs: Sequence[Pair]

    @property
    def disagreements(self) -> list[Shared]:
        return [one for one in self.answers if not one.agree]

    @property
    def verdict(self) -> str:
        """What the ordinal alpha is commonly taken to mean."""
        if self.ordinal is None:
            return ""
        if self.ordinal >= 0.8:
            return "Labels this consistent are commonly taken as reliable."
        if self.ordinal >= 0.667:
            return "Good enough for tentative conclusions only."
        return "Too little agreement to conclude much from the labels: agree on what correct means."


def agreement(*, step: str = "") -> Agreement:
    """Of the newest WINDOW marks, those on answers that several people marked. Three queries."""
    answers = _shared(step)
    units = [[opinion.value for opinion in one.opinions] for one in answers]
    return Agreement(
        answers=answers,
        same=share(sum(one.agree for one in answers), len(answers)),
        nominal=krippendorff_alpha(units),
        ordinal=krippendorff_alpha(units, level="ordinal"),
        pairs=_pairs(answers),
    )


def _shared(step: str) -> list[Shared]:
    """Newest mark first."""
    rows = (
        Mark.objects.filter(is_current=True, sample_id__in=_marked_by_several(step))
        .order_by("id")
        .values_list("sample_id", "sample__bucket__step", "by__username", "outcome", "made_at")
    )
    opinions: dict[tuple[uuid.UUID, str], list[Opinion]] = {}
    for sample_id, name, by, outcome, made_at in rows:
        opinions.setdefault((sample_id, name), []).append(Opinion(by, outcome, made_at))
    found = [Shared(sample_id, name, given) for (sample_id, name), given in opinions.items() if len(given) > 1]
    return sorted(found, key=lambda one: (one.newest, one.sample_id), reverse=True)


def _marked_by_several(step: str) -> list[uuid.UUID]:
    newest = Mark.objects.order_by("-id").values_list("id", flat=True).first() or 0
    others = Mark.objects.filter(sample=OuterRef("sample"), is_current=True).exclude(by=OuterRef("by"))
    marks = Mark.objects.filter(id__gt=newest - WINDOW, is_current=True, sample__isnull=False)
    if step:
        marks = marks.filter(sample__bucket__step=step)
    recent = marks.filter(Exists(others)).order_by("-id").values_list("sample_id", flat=True)
    return list(dict.fromkeys(recent[: 2 * MOST]))[:MOST]


def _pairs(answers: Sequence[Shared]) -> list[Pair]:
    """Every two people who marked the same answers, those with the most in common first."""
    values: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for one in answers:
        for first, second in combinations(sorted(one.opinions, key=lambda opinion: opinion.by), 2):
            values.setdefault((first.by, second.by), []).append((first.value, second.value))
    pairs = [
        Pair(*names, share(sum(one == other for one, other in given), len(given)), cohen_kappa(given))
        for names, given in values.items()
    ]
    return sorted(pairs, key=lambda pair: (-pair.same.n, pair.first, pair.second))
