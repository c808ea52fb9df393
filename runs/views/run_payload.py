"""What the Run now dialog proposes as a payload."""

import json
from typing import Any

from pydantic import ValidationError

from runs.models import PipelineVersion, Run
from runs.pipelines import registry
from runs.pipelines.sample import payload_sample

PROPOSED_CHARS = 20_000
EXAMPLE = '{\n  "summary": "What happened, in a sentence",\n  "data": {}\n}\n'
_OF_THE_SENDER = frozenset({"source", "event"})
_EMPTY: tuple[Any, ...] = (None, "", {}, [])


def proposed(name: str, version: PipelineVersion | None) -> str:
    """What the latest run was given, ready to be changed and sent again; else the fields the pipeline names.

    Without its idempotency key, which is no part of a run's context: pressing the button is meant to start a run.
    """
    latest = Run.objects.filter(pipeline_name=name).order_by("-id").values_list("context", flat=True).first()
    if latest:
        text = _written(
            {key: value for key, value in latest.items() if value not in _EMPTY and key not in _OF_THE_SENDER}
        )
        if len(text) <= PROPOSED_CHARS:
            return text
    return _of_fields(version) if version else EXAMPLE


def _of_fields(version: PipelineVersion) -> str:
    try:
        return _written(payload_sample(registry.parsed(version)))
    except ValidationError:  # stored by an older release: its page is shown all the same
        return EXAMPLE


def _written(payload: dict[str, Any]) -> str:
    return json.dumps(payload, indent=2, ensure_ascii=False) + "\n"
