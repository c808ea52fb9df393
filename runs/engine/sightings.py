"""Telling the version registry which prompts and agents are in use, without a write per step."""

import threading
import time
from datetime import datetime

from calibration import versions
from runs.engine.publish import publish_snapshot
from runs.models import Step
from runs.pipelines import schema

AGAIN_AFTER = 60.0  # seconds: how exact "last seen" is

_lock = threading.Lock()
_seen: dict[tuple[str, ...], float] = {}


def note(row: Step, definition: schema.Step, *, now: datetime) -> None:
    """Record the prompt and agent version the step ran with; ask for the text of an agent version not seen before."""
    if row.prompt_hash and definition.prompt_template is not None and _due("prompt", row.name, row.prompt_hash):
        versions.see_prompt(step=row.name, prompt_hash=row.prompt_hash, template=definition.prompt_template, now=now)
    if (
        row.agent_version
        and _due("agent", row.agent, row.agent_version)
        and versions.see_agent(agent=row.agent, version=row.agent_version, now=now)
    ):
        publish_snapshot(row.id)


def _due(*key: str) -> bool:
    now = time.monotonic()
    with _lock:
        if now - _seen.get(key, -AGAIN_AFTER) < AGAIN_AFTER:
            return False
        if len(_seen) > 10_000:
            _seen.clear()
        _seen[key] = now
        return True
