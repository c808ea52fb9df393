"""Telling the version registry which prompts and agents are in use, without holding up the run."""

import threading
import time
from datetime import datetime

from calibration import versions
from runs.engine.publish import publish_snapshot
from runs.models import Step
from runs.pipelines import definitions, schema

AGAIN_AFTER = 60.0  # seconds: how exact an agent version's "last seen" is

_lock = threading.Lock()
_seen: dict[tuple[str, str], float] = {}


def note(row: Step, definition: schema.StepBody, *, now: datetime) -> None:
    """Record the prompt the step ran with, and have another task see to the text of its agent version."""
    if definition.prompt_template is not None:
        tracked = definitions.tracked_name(row.name, definition)
        template = definition.prompt_template
        versions.see_prompt(step=tracked, prompt_hash=row.prompt_hash, template=template, now=now)
    if row.agent_version and _due(row.agent, row.agent_version):
        publish_snapshot(row.id)


def _due(agent: str, version: str) -> bool:
    now = time.monotonic()
    with _lock:
        if now - _seen.get((agent, version), -AGAIN_AFTER) < AGAIN_AFTER:
            return False
        if len(_seen) > 10_000:
            _seen.clear()
        _seen[agent, version] = now
        return True
