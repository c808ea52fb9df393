"""A payload to start from: every field of it that a pipeline's texts name, still empty. No database."""

from collections.abc import Iterator
from typing import Any

from jinja2 import nodes

from runs.pipelines.compiling import static_path
from runs.pipelines.schema import Pipeline, ShellCheck, StepBody, WebhookCheck
from runs.pipelines.templating import BadTemplate, template_tree

_OF_THE_PAYLOAD = frozenset({"severity", "labels", "metadata"})


def payload_sample(pipeline: Pipeline) -> dict[str, Any]:
    """``{"summary": "", "data": {"service": ""}}`` for a pipeline that says ``{{ data.service }}``."""
    sample: dict[str, Any] = {"summary": ""}
    wanted = _OF_THE_PAYLOAD.union(pipeline.context_template.include)
    for _, step in pipeline.bodies():
        for text in _texts(step):
            for path in _paths(text):
                if path[0] in wanted:
                    _put(sample, path)
    return sample


def _texts(step: StepBody) -> Iterator[str]:
    yield step.prompt_template or ""
    yield from _inside(step.executor_config)
    for check in step.deterministic_checks:
        if isinstance(check, ShellCheck):
            yield check.run
        elif isinstance(check, WebhookCheck):
            yield check.url


def _inside(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _inside(item)


def _paths(text: str) -> Iterator[list[str]]:
    """Each name a template looks up, with the keys behind it as far as they are plain words."""
    try:
        tree = template_tree(text)
    except BadTemplate:
        return
    for node in tree.find_all((nodes.Name, nodes.Getattr, nodes.Getitem)):
        keys, base = static_path(node)
        if isinstance(base, nodes.Name) and all(isinstance(key, str) for key in keys):
            yield [base.name, *map(str, keys)]


def _put(sample: dict[str, Any], path: list[str]) -> None:
    """Longer paths win: ``data`` and ``data.service`` together give an object."""
    for key in path[:-1]:
        if not isinstance(sample.get(key), dict):
            sample[key] = {}
        sample = sample[key]
    sample.setdefault(path[-1], {} if path[-1] in ("labels", "metadata") else "")
