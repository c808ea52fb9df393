"""Every agent that has answered or told a version, the one that ran last first."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Max

from calibration.models import AgentVersion, Bucket
from calibration.summary import Summary, summaries
from insights.bucket_use import last_answers, recency
from insights.histories import record_of
from insights.measures import Share


@dataclass(frozen=True)
class Agent:
    """``versions`` is how many it had; ``version`` the one it told last, "" where none was told."""

    name: str
    last_seen: datetime | None
    version: str
    versions: int
    summaries: Sequence[Summary]

    @property
    def executor(self) -> str:
        """What runs it: the part of its name before the colon."""
        return self.name.partition(":")[0] if ":" in self.name else ""

    @property
    def steps(self) -> list[str]:
        return sorted({one.key.step for one in self.summaries})

    @property
    def labelled(self) -> int:
        return sum(one.total_n for one in self.summaries)

    @property
    def record(self) -> Share:
        """The accuracy of all its labelled answers, in every step and version."""
        return record_of(self.summaries)


def agent_names() -> list[tuple[str, datetime | None]]:
    """Every agent with the time it was last seen, the latest first. Two queries."""
    seen: dict[str, datetime | None] = {}
    for agent, last in last_answers():
        seen[agent] = _later(seen.get(agent), last)
    for agent, last in AgentVersion.objects.values_list("agent").annotate(last=Max("last_seen")).order_by():
        seen[agent] = _later(seen.get(agent), last)
    return sorted(sorted(seen.items()), key=lambda one: recency(one[1]), reverse=True)


def agents(names: Sequence[tuple[str, datetime | None]]) -> list[Agent]:
    """The agents of these names, in their order. Four queries, however many."""
    wanted = [name for name, _ in names]
    ids = list(Bucket.objects.filter(agent__in=wanted).values_list("id", flat=True))
    found: defaultdict[str, list[Summary]] = defaultdict(list)
    # One bin for all of [0, 1]: the list shows the sums alone.
    for one in summaries(bucket_ids=ids, bin_width=1, n_min=settings.SERVICE.calibration.n_min):
        found[one.key.agent].append(one)
    told: defaultdict[str, list[str]] = defaultdict(list)
    for agent, version in (
        AgentVersion.objects.filter(agent__in=wanted).order_by("last_seen", "id").values_list("agent", "version")
    ):
        told[agent].append(version)
    return [_agent(name, last, told[name], found[name]) for name, last in names]


def _agent(name: str, last: datetime | None, told: Sequence[str], found: Sequence[Summary]) -> Agent:
    every = {*told, *(one.key.agent_version for one in found)} - {""}
    return Agent(name, last, told[-1] if told else "", len(every), found)


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max(one, other, key=recency)
