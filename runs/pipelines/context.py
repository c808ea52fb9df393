"""What the templates of a step can see."""

from collections.abc import Mapping
from typing import Any

from runs.models import Run
from runs.pipelines import schema

ALWAYS = (
    "vars",
    "labels",
    "metadata",
    "summary",
    "severity",
    "pipeline_run_id",
    "pipeline_name",
    "current_step",
    "steps",
    "artifacts",
)
"""The names that are always there; ``context_template.include`` adds fields of the payload to them."""


def step_keys(name: str) -> tuple[str, ...]:
    """The keys under which a step is found: its name, and with hyphens as underscores so that a dot reaches it."""
    plain = name.replace("-", "_")
    return (name,) if plain == name else (name, plain)


def prompt_context(
    *,
    run: Run,
    steps: Mapping[str, Any],
    pipeline: schema.Pipeline,
    current_step: str,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The names for one step's templates. ``steps`` maps the name of each earlier step to its parsed answer, of a
    group to the list of its branches' answers.

    ``extra`` is added last (``loop``, ``output``). A field named in ``include`` that this payload lacks is
    left out, so that a template using it warns.
    """
    given = run.context
    context: dict[str, Any] = {name: given[name] for name in pipeline.context_template.include if name in given}
    keyed = {key: answer for name, answer in steps.items() for key in step_keys(name)}
    context.update(
        vars=pipeline.vars,
        labels=_object(given.get("labels")),
        metadata=_object(given.get("metadata")),
        summary=_text(given.get("summary")),
        severity=_text(given.get("severity")),
        pipeline_run_id=str(run.id),
        pipeline_name=run.pipeline_name,
        current_step=current_step,
        steps=keyed,
        artifacts={key: _object(_object(answer).get("artifacts")) for key, answer in keyed.items()},
    )
    if extra:
        context.update(extra)
    return context


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> Any:
    return "" if value is None else value
