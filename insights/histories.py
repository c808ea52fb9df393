"""The versions a step's prompt or an agent has had, newest first, with what was measured under each."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Length

from calibration.models import AgentVersion, PromptVersion
from calibration.summary import Stage, Summary, summaries
from insights.bucket_use import Use, recency, together, use_of
from insights.effects import Effect, Labels, Part, effect
from insights.measures import Share, accuracy


class UnknownVersion(LookupError):
    """Nothing ran with this version."""


@dataclass(frozen=True)
class Version:
    """One version; ``value`` is its hash, or "" for the runs that reported none.

    ``chars`` is the length of its text, None when no text is kept; ``note`` may say why. The times
    are those of the registry, or of the first and last answer where the registry never met it.
    """

    value: str
    use: Use
    summaries: Sequence[Summary] = ()
    chars: int | None = None
    note: str = ""
    uses: Mapping[int, Use] = field(default_factory=dict)

    @property
    def labelled(self) -> int:
        return sum(one.total_n for one in self.summaries)

    @property
    def record(self) -> Share:
        """The accuracy of every labelled answer under this version, whoever gave it."""
        return record_of(self.summaries)

    @property
    def steps(self) -> list[str]:
        """The steps that ran with it."""
        return sorted({one.key.step for one in self.summaries})

    @property
    def mostly_checks(self) -> bool:
        """Whether more than half of the labels come from failed checks, which can only say wrong."""
        return 2 * sum(one.by_failed_check for one in self.summaries) > self.labelled


@dataclass(frozen=True)
class History:
    """``versions`` are newest first: by when each was first seen."""

    of: str
    part: Part
    versions: Sequence[Version]
    n_min: int

    @property
    def latest(self) -> Version | None:
        """The one that ran last: after a revert that is not the newest."""
        used = [version for version in self.versions if version.use.last]
        return max(used, key=lambda version: (recency(version.use.last), version.value), default=None)

    def has(self, value: str) -> bool:
        return any(version.value == value for version in self.versions)

    def before(self, version: Version) -> Version | None:
        """The one that was new before this one."""
        place = self.versions.index(version)
        return self.versions[place + 1] if place + 1 < len(self.versions) else None

    def chosen(self, value: str | None, against: str | None) -> tuple[Version | None, Version | None]:
        """The version asked for (None: the newest) and the one to hold it against (None: the one before it).

        Either is None when there is no such version to be the default. Raises UnknownVersion.
        """
        newest = self.versions[0] if self.versions else None
        version = newest if value is None else self._get(value)
        before = self.before(version) if version else None
        return version, before if against is None else self._get(against)

    def effect(self, before: Version, after: Version) -> Effect:
        """What going from one to the other did to the accuracy."""
        old, new = ([_labels(one, self.part) for one in side.summaries] for side in (before, after))
        return effect(old, new, part=self.part, enough=self.n_min)

    def _get(self, value: str) -> Version:
        found = next((version for version in self.versions if version.value == value), None)
        if found is None:
            raise UnknownVersion(value)
        return found


def prompt_history(step: str, *, stage: Stage = "all", bin_width: float, n_min: int) -> History:
    """The prompts of a step. Empty for a step that nothing is known of. Four queries."""
    found = summaries(step=step, stage=stage, bin_width=bin_width, n_min=n_min)
    return _history(step, "prompt_hash", _registered_prompts(step), found, n_min)


def agent_history(agent: str, *, stage: Stage = "all", bin_width: float, n_min: int) -> History:
    """The versions an agent has reported. Empty for an agent that nothing is known of. Four queries."""
    found = summaries(agent=agent, stage=stage, bin_width=bin_width, n_min=n_min)
    return _history(agent, "agent_version", _registered_agents(agent), found, n_min)


def record_of(found: Sequence[Summary]) -> Share:
    """The accuracy of all labels of these buckets together."""
    return accuracy(sum(label_sum(one) for one in found), sum(one.total_n for one in found))


def label_sum(summary: Summary) -> float:
    """The sum of a bucket's labels."""
    return sum(one.n * one.mean_label for one in summary.bins if one.mean_label is not None)


def _history(of: str, part: Part, registered: "dict[str, dict[str, Any]]", found: list[Summary], n_min: int) -> History:
    uses = use_of([one.bucket_id for one in found])
    buckets: defaultdict[str, list[Summary]] = defaultdict(list)
    for one in found:
        buckets[getattr(one.key, part)].append(one)
    values = {*registered, *buckets}
    versions = [_version(value, registered.get(value, {}), buckets[value], uses) for value in values]
    return History(of, part, sorted(versions, key=_newest_first, reverse=True), n_min)


def _version(value: str, row: "dict[str, Any]", found: list[Summary], uses: dict[int, Use]) -> Version:
    mine = {one.bucket_id: uses[one.bucket_id] for one in found if one.bucket_id in uses}
    measured = together(mine.values())
    use = Use(row.get("first_seen", measured.first), row.get("last_seen", measured.last), measured.times, measured.more)
    return Version(value, use, found, row.get("chars"), row.get("note", ""), mine)


def _newest_first(version: Version) -> tuple[datetime, str]:
    return (recency(version.use.first), version.value)


def _registered_prompts(step: str) -> "dict[str, dict[str, Any]]":
    rows = PromptVersion.objects.filter(step=step).annotate(chars=Length("template"))
    return _by_value(rows, "prompt_hash")


def _registered_agents(agent: str) -> "dict[str, dict[str, Any]]":
    rows = AgentVersion.objects.filter(agent=agent).annotate(chars=Length("soul") + Length("config"))
    return {
        value: {**row, "chars": row["chars"] or None}
        for value, row in _by_value(rows, "version", "note").items()
    }  # fmt: skip


def _by_value(rows: "QuerySet[Any]", column: str, *more: str) -> "dict[str, dict[str, Any]]":
    return {row[column]: row for row in rows.values(column, "first_seen", "last_seen", "chars", *more)}


def _labels(summary: Summary, part: Part) -> Labels:
    key = summary.key
    parts = {"step": key.step, "agent": key.agent, "model": key.model, "provider": key.provider}
    parts |= {"prompt_hash": key.prompt_hash, "agent_version": key.agent_version}
    told_apart = tuple(value for name, value in parts.items() if name != part)
    return Labels(told_apart, summary.total_n, label_sum(summary), summary.by_failed_check)
