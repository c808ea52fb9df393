"""Versions of prompts and agents that were seen elsewhere or earlier, put into the registry."""

from collections.abc import Sequence
from typing import TypeVar

from django.db import transaction

from calibration.models import AgentVersion, PromptVersion
from calibration.storable import storable_name, storable_text

V = TypeVar("V", PromptVersion, AgentVersion)


def keep_prompts(versions: Sequence[PromptVersion]) -> int:
    """Add the unsaved ``versions``; one that is there keeps its text and was seen from the earliest to the latest.

    Returns how many are new.
    """
    for version in versions:
        version.step, version.prompt_hash = storable_text(version.step), storable_name(version.prompt_hash)
        version.template = storable_text(version.template)
    with transaction.atomic():
        stored = PromptVersion.objects.select_for_update().filter(step__in={one.step for one in versions})
        return _keep(versions, {(one.step, one.prompt_hash): one for one in stored}, ("step", "prompt_hash"))


def keep_agents(versions: Sequence[AgentVersion]) -> int:
    """The same for agents; one that was known without its text gets it."""
    for version in versions:
        version.agent, version.version = storable_text(version.agent), storable_name(version.version)
        for name in ("soul", "config", "note"):
            setattr(version, name, storable_text(getattr(version, name)))
    with transaction.atomic():
        stored = AgentVersion.objects.select_for_update().filter(agent__in={one.agent for one in versions})
        known = {(one.agent, one.version): one for one in stored}
        for version in versions:
            _learn(known.get((version.agent, version.version)), version)
        return _keep(versions, known, ("agent", "version"))


def _learn(known: AgentVersion | None, told: AgentVersion) -> None:
    if known is not None and not (known.soul or known.config) and (told.soul or told.config):
        known.soul, known.config, known.note = told.soul, told.config, ""


def _keep(versions: Sequence[V], known: dict[tuple[str, str], V], key: tuple[str, str]) -> int:
    new: list[V] = []
    for version in versions:
        name = (getattr(version, key[0]), getattr(version, key[1]))
        there = known.setdefault(name, version)
        if there is version:
            new.append(version)
        else:
            there.first_seen = min(there.first_seen, version.first_seen)
            there.last_seen = max(there.last_seen, version.last_seen)
    for there in known.values():
        there.save()
    return len(new)
