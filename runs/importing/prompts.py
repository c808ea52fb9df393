"""The prompt templates that imported steps ran with, for the history of prompts."""

from collections.abc import Sequence

from calibration.models import PromptVersion
from calibration.old_versions import keep_prompts
from runs.importing import records
from runs.pipelines.schema import prompt_hash


def hash_of(step: records.Step) -> str:
    """As the file tells it, else of its template; "" without either."""
    return step.prompt_hash or prompt_hash(step.prompt_template)


def keep_templates(runs: Sequence[records.Run]) -> int:
    """Register the templates of the steps; returns how many were new."""
    seen: dict[tuple[str, str], PromptVersion] = {}
    for run in runs:
        for step in run.steps:
            if step.prompt_template and (name := hash_of(step)):
                at = run.finished_at(step)
                version = seen.setdefault(
                    (step.name, name),
                    PromptVersion(
                        step=step.name, prompt_hash=name, template=step.prompt_template, first_seen=at, last_seen=at
                    ),
                )
                version.first_seen, version.last_seen = min(version.first_seen, at), max(version.last_seen, at)
    return keep_prompts(list(seen.values()))
