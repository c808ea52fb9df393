"""Pipelines that run other pipelines: which there are, and that none runs itself, however far round."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from runs.pipelines.closest import did_you_mean
from runs.pipelines.loader import Loaded


def refuse_bad_calls(files: list[Loaded], holders: Mapping[str, str]) -> list[Loaded]:
    """Refuse files that call a pipeline nobody has, or that are part of a circle.

    ``holders``: which file has each name at present. A file that is refused keeps running its last good version, so
    its name stays callable if it has run before.
    """
    while True:
        broken = {item.file for item in files if item.problems}
        known = {item.name for item in files if not item.problems}
        known |= {name for name, file in holders.items() if file in broken}
        callees = {item.name: [call.pipeline for call in item.calls] for item in files if not item.problems}
        checked = [item if item.problems else _checked(item, known, callees) for item in files]
        if checked == files:
            return files
        files = checked


def _checked(item: Loaded, known: Iterable[str], callees: Mapping[str, list[str]]) -> Loaded:
    problems = []
    for call in item.calls:
        if call.pipeline not in known:
            message = f"there is no pipeline {call.pipeline!r}{did_you_mean(call.pipeline, known)}"
            problems.append(replace(call.place, message=message))
            continue
        way = _way(call.pipeline, item.name, callees)
        if way is not None:
            chain = " -> ".join([item.name, *way])
            problems.append(replace(call.place, message=f"{chain}: a pipeline cannot be part of itself"))
    return replace(item, config=None, digest="", problems=problems) if problems else item


def _way(start: str, end: str, callees: Mapping[str, list[str]]) -> list[str] | None:
    """The shortest chain of calls between two pipelines, both included; None when there is none."""
    ways = [[start]]
    seen = {start}
    for way in ways:  # grows as it is walked
        if way[-1] == end:
            return way
        for name in callees.get(way[-1], []):
            if name not in seen:
                seen.add(name)
                ways.append([*way, name])
    return None
