"""The prompts and agents that the other VectorStep has seen."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from calibration.models import AgentVersion, PromptVersion
from calibration.old_versions import keep_agents, keep_prompts
from runs.importing.vectorstep import cells
from runs.importing.vectorstep.database import Row, Source
from runs.importing.vectorstep.reading import FUTURE, Skipped
from runs.moments import is_future

Period = tuple[datetime, datetime]
Used = Mapping[str, Sequence[tuple[str, Period]]]  # by hash or version: who used it, and when


def keep_versions(source: Source, skipped: Skipped, *, now: datetime) -> tuple[int, int]:
    """Register the file's versions, but those of a time after ``now``; how many prompts and agents are new here."""
    by_hash = _used(source.seen("step_name", "prompt_hash"), "step_name", "prompt_hash")
    by_version = _used(source.seen("agent", "agent_version"), "agent", "agent_version")
    prompts = [one for row in source.every("step_prompt_versions") for one in _prompts(row, by_hash, skipped)]
    agents = [one for row in source.every("agent_version_snapshots") for one in _agents(row, by_version, skipped)]
    return (
        keep_prompts([one for one in prompts if _is_past(one, now, skipped, "prompt version", one.prompt_hash)]),
        keep_agents([one for one in agents if _is_past(one, now, skipped, "agent version", one.version)]),
    )


def _used(rows: Sequence[Row], who: str, what: str) -> Used:
    found = defaultdict(list)
    for row in rows:
        period = _period(row["first"], row["last"])
        if period and row[who] and row[what]:
            found[cells.text(row[what])].append((cells.text(row[who]), period))
    return found


def _prompts(row: Row, used: Used, skipped: Skipped) -> Iterator[PromptVersion]:
    """One for each step that ran with it: the file names one step only, and two may share a template."""
    name, hash_ = cells.name(row["step_name"]), cells.text(row["prompt_hash"])
    period = _period(row["first_seen_at"], row["last_seen_at"])
    if not (name and hash_ and period):
        skipped.note("prompt version", "it has no step, hash or time", hash_)
        return
    for step, (first, last) in {name: period, **{cells.name(who): when for who, when in used.get(hash_, [])}}.items():
        yield PromptVersion(
            step=step, prompt_hash=hash_, template=cells.text(row["template"]), first_seen=first, last_seen=last
        )


def _agents(row: Row, used: Used, skipped: Skipped) -> Iterator[AgentVersion]:
    """Under the identity ``executor:name`` that its steps have; the file may tell the name only."""
    agent, version = cells.name(row["agent"]), cells.text(row["agent_version"])
    period = _period(row["first_seen_at"], row["last_seen_at"])
    if not (agent and version and period):
        skipped.note("agent version", "it has no agent, version or time", version)
        return
    named = {cells.name(who) for who, _ in used.get(version, []) if who.partition(":")[2] == agent}
    for identity in sorted(named) or [agent]:
        yield AgentVersion(
            agent=identity,
            version=version,
            soul=cells.text(row["soul_md"]),
            config=cells.text(row["agent_yaml"]),
            note=cells.text(row["note"]),
            first_seen=period[0],
            last_seen=period[1],
        )


def _is_past(one: PromptVersion | AgentVersion, now: datetime, skipped: Skipped, kind: str, which: str) -> bool:
    if not is_future(one.last_seen, now=now):
        return True
    skipped.note(kind, FUTURE, which)
    return False


def _period(first: object, last: object) -> Period | None:
    """In order; either end stands for the other where that is missing."""
    moments = [moment for moment in (cells.moment(first), cells.moment(last)) if moment]
    return (min(moments), max(moments)) if moments else None
