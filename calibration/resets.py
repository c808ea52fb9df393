"""Why a track record starts again: this step ran before with another prompt or another agent version."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import OuterRef, Q, QuerySet, Subquery

from calibration.buckets import STAGES, BucketKey, Evidence
from calibration.models import AgentVersion, Bucket, PromptVersion, Sample

PHRASES = {"prompt": "prompt", "agent": "agent", "both": "prompt and agent"}


@dataclass(frozen=True)
class Reset:
    """``former_marked`` labels belong to the version before; this one has ``n`` of the ``n_min`` needed."""

    changed: Literal["prompt", "agent", "both"]
    at: datetime
    former_marked: int
    n: int
    n_min: int
    is_previous: bool  # False when versions without a single label lie between the two
    show_year: bool

    def sentence(self) -> str:
        """The explanation for the Trust panel; the date is in UTC."""
        day = f"{self.at.day} {self.at:%b %Y}" if self.show_year else f"{self.at.day} {self.at:%b}"
        former = "The previous version" if self.is_previous else "The last version with any"
        results = "result" if self.former_marked == 1 else "results"
        return (
            f"Calibration was reset when this step's {PHRASES[self.changed]} changed on {day}. "
            f"{former} had {self.former_marked} marked {results}; this one has {self.n} of the {self.n_min} needed."
        )


def explain_reset(key: BucketKey, *, n: int, n_min: int, now: datetime, evidence: Evidence = "all") -> Reset | None:
    """Why this bucket has only ``n`` labels at this confidence, or None if no change explains it.

    Looks for the last version of the same step, agent, model and provider that has labels and was
    first seen before this one. A reverted prompt is its old version again, older than the edit it
    undoes, so nothing shows. None too once the record is good enough (``n`` reaches ``n_min``).
    """
    if n >= n_min:
        return None
    versions = list(_versions(key))
    began = next((row.began for row in versions if _is(row, key)), None) or now
    for position, former in enumerate(_earlier(versions, key, began)):
        if marked := _labelled(former, evidence).count():
            changed = _changed(former, key)
            at = min(began, _change_seen(key, changed) or began)
            return Reset(changed, at, marked, n, n_min, position == 0, at.year != now.year)
    return None


def _versions(key: BucketKey) -> QuerySet[Bucket]:
    first = Sample.objects.filter(bucket=OuterRef("pk"), is_replay=False).order_by("observed_at")
    return Bucket.objects.filter(step=key.step, agent=key.agent, model=key.model, provider=key.provider).annotate(
        began=Subquery(first.values("observed_at")[:1])
    )


def _earlier(versions: list[Bucket], key: BucketKey, began: datetime) -> Iterator[Bucket]:
    others = [row for row in versions if not _is(row, key) and row.began is not None and row.began < began]
    return iter(sorted(others, key=lambda row: (row.began, row.pk), reverse=True))


def _is(row: Bucket, key: BucketKey) -> bool:
    return (row.prompt_hash, row.agent_version) == (key.prompt_hash, key.agent_version)


def _labelled(bucket: Bucket, evidence: Evidence) -> QuerySet[Sample]:
    return Sample.objects.filter(Q(is_replay=False, label__isnull=False), bucket=bucket, stage__in=STAGES[evidence])


def _changed(former: Bucket, key: BucketKey) -> Literal["prompt", "agent", "both"]:
    if former.agent_version == key.agent_version:
        return "prompt"
    return "agent" if former.prompt_hash == key.prompt_hash else "both"


def _change_seen(key: BucketKey, changed: str) -> datetime | None:
    """When the registry first saw what changed; the later of the two when both did."""
    seen = []
    if changed != "agent":
        seen += PromptVersion.objects.filter(step=key.step, prompt_hash=key.prompt_hash).values_list(
            "first_seen", flat=True
        )
    if changed != "prompt":
        seen += AgentVersion.objects.filter(agent=key.agent, version=key.agent_version).values_list(
            "first_seen", flat=True
        )
    return max(seen, default=None)
