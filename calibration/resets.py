"""Why a track record starts again: this step ran before with another prompt or another agent version."""

from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Literal

from django.db import connection
from django.db.models import OuterRef, Subquery, Sum

from calibration.buckets import STAGES, BucketKey, Evidence
from calibration.models import AgentVersion, Bucket, PromptVersion, Sample, TallyOfTen
from calibration.plurals import plural

Changed = Literal["prompt", "agent", "both"]
PHRASES: dict[Changed, str] = {"prompt": "prompt", "agent": "agent", "both": "prompt and agent"}


@dataclass(frozen=True)
class Reset:
    """``former_marked`` labels belong to the version before; this one has ``n`` of the ``n_min`` needed."""

    changed: Changed
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
        return (
            f"Calibration was reset when this step's {PHRASES[self.changed]} changed on {day}. "
            f"{former} had {plural(self.former_marked, 'marked result')}; "
            f"this one has {self.n} of the {self.n_min} needed."
        )


@dataclass(frozen=True)
class _Version:
    """One prompt and agent version of a step; ``began`` is its first sample that is no replay."""

    bucket: int
    prompt_hash: str
    agent_version: str
    began: datetime | None


def explain_reset(key: BucketKey, *, n: int, n_min: int, now: datetime, evidence: Evidence = "all") -> Reset | None:
    """Why this bucket has only ``n`` labels at this confidence, or None if no change explains it.

    Looks for the last version of the same step, agent, model and provider that has labels and was
    first seen before this one. A reverted prompt is its old version again, older than the edit it
    undoes, so nothing shows. None too once the record is good enough (``n`` reaches ``n_min``).
    """
    if n >= n_min or not _has_other_versions(key):
        return None
    versions = _versions(key)
    began = next((version.began for version in versions if _is(version, key)), None) or now
    for position, former in enumerate(_earlier(versions, key, began)):
        if marked := _labelled(former, evidence):
            changed = _changed(former, key)
            at = min(began, _change_seen(key, changed) or began)
            return Reset(changed, at, marked, n, n_min, position == 0, at.year != now.year)
    return None


_OTHERS = """
    SELECT 1 FROM calibration_bucket
    WHERE step = %s AND agent = %s AND model = %s AND provider = %s AND (prompt_hash <> %s OR agent_version <> %s)
    LIMIT 1
"""


def _has_other_versions(key: BucketKey) -> bool:
    """In plain SQL: the gate asks at every step that is not calibrated yet, and mostly there are none."""
    with connection.cursor() as cursor:
        cursor.execute(_OTHERS, astuple(key))
        return cursor.fetchone() is not None


def _versions(key: BucketKey) -> list[_Version]:
    first = Sample.objects.filter(bucket=OuterRef("pk"), is_replay=False).order_by("observed_at")
    rows = Bucket.objects.filter(step=key.step, agent=key.agent, model=key.model, provider=key.provider).values_list(
        "id", "prompt_hash", "agent_version", Subquery(first.values("observed_at")[:1])
    )
    return [_Version(*row) for row in rows]


def _earlier(versions: list[_Version], key: BucketKey, began: datetime) -> list[_Version]:
    """The versions first seen before ``began``, the latest first."""
    seen = [(one.began, one.bucket, one) for one in versions if one.began and one.began < began and not _is(one, key)]
    return [version for _, _, version in sorted(seen, key=lambda one: one[:2], reverse=True)]


def _is(version: _Version, key: BucketKey) -> bool:
    return (version.prompt_hash, version.agent_version) == (key.prompt_hash, key.agent_version)


def _labelled(version: _Version, evidence: Evidence) -> int:
    tallies = TallyOfTen.objects.filter(bucket_id=version.bucket, stage__in=STAGES[evidence])
    return int(tallies.aggregate(marked=Sum("n", default=0))["marked"])


def _changed(former: _Version, key: BucketKey) -> Changed:
    if former.agent_version == key.agent_version:
        return "prompt"
    return "agent" if former.prompt_hash == key.prompt_hash else "both"


def _change_seen(key: BucketKey, changed: Changed) -> datetime | None:
    """When the registry first saw what changed; the later of the two when both did."""
    seen: list[datetime] = []
    if changed != "agent":
        prompts = PromptVersion.objects.filter(step=key.step, prompt_hash=key.prompt_hash)
        seen += prompts.values_list("first_seen", flat=True)
    if changed != "prompt":
        agents = AgentVersion.objects.filter(agent=key.agent, version=key.agent_version)
        seen += agents.values_list("first_seen", flat=True)
    return max(seen, default=None)
