"""The registry of prompt and agent versions, and why a track record starts again.

Versions are addressed by the hash of their content: the same text later is the same version, and
its samples are in the same bucket as before.
"""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from django.db import connection, transaction
from django.db.models.functions import Greatest

from calibration.models import AgentVersion, PromptVersion
from calibration.resets import Reset, explain_reset
from calibration.storable import storable_name, storable_text

__all__ = ["Definition", "Reset", "explain_reset", "forget_seen", "see_agent", "see_prompt"]

# last_seen is good to a minute: a busy step writes it once a minute, not once a run.
FRESH_SECONDS = 60.0
CACHE_LIMIT = 10_000
_seen: dict[tuple[str, str, str], float] = {}


class Definition(Protocol):
    """An agent's text as its backend tells it, and the version that text belongs to."""

    @property
    def version(self) -> str: ...
    @property
    def soul(self) -> str: ...
    @property
    def config(self) -> str: ...


def see_prompt(*, step: str, prompt_hash: str, template: str, now: datetime) -> None:
    """Note that ``step`` ran with this template now. A step without a template has no hash and no version."""
    step = storable_text(step)
    if not prompt_hash or _seen_lately("prompt", step, prompt_hash):
        return
    rows = PromptVersion.objects.filter(step=step, prompt_hash=prompt_hash)
    if not rows.update(last_seen=Greatest("last_seen", now)):
        version = PromptVersion(
            step=step, prompt_hash=prompt_hash, template=storable_text(template), first_seen=now, last_seen=now
        )
        PromptVersion.objects.bulk_create([version], ignore_conflicts=True)
    _remember("prompt", step, prompt_hash)


def see_agent(*, agent: str, version: str, fetch: Callable[[], Definition | str], now: datetime) -> None:
    """Note that ``agent`` reported this version now; on an unseen one, keep its text.

    ``fetch`` asks the backend for the definition, or answers with the reason there is none. It may
    take as long as a network call, so call this outside a transaction. Text that has meanwhile
    become another version's is not kept; a note says so.
    """
    agent, version = storable_text(agent), storable_name(version)
    if not version or _seen_lately("agent", agent, version):
        return
    rows = AgentVersion.objects.filter(agent=agent, version=version)
    if not rows.update(last_seen=Greatest("last_seen", now)):
        row = AgentVersion(agent=agent, version=version, first_seen=now, last_seen=now, **_text(version, fetch()))
        AgentVersion.objects.bulk_create([row], ignore_conflicts=True)
    _remember("agent", agent, version)


def forget_seen(**_signal: object) -> None:
    """Drop what this process remembers, after the tables were emptied."""
    _seen.clear()


def _text(version: str, found: Definition | str) -> dict[str, str]:
    if isinstance(found, str):
        return {"note": storable_text(found or "The backend told no definition.")}
    if storable_name(found.version) != version:
        moved_on = f"When its text was asked for, the agent was already at version {found.version or '(none)'}."
        return {"note": storable_text(moved_on)}
    return {"soul": storable_text(found.soul), "config": storable_text(found.config)}


def _seen_lately(kind: str, name: str, version: str) -> bool:
    at = _seen.get((kind, name, version))
    return at is not None and time.monotonic() - at < FRESH_SECONDS


def _remember(kind: str, name: str, version: str) -> None:
    def keep() -> None:
        # Only what is committed: a row that was rolled back has to be written again.
        if not connection.in_atomic_block:
            if len(_seen) >= CACHE_LIMIT:
                _seen.clear()
            _seen[kind, name, version] = time.monotonic()

    transaction.on_commit(keep)
