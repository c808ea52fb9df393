"""Which names each text of a pipeline may use, and checking all of its texts against them."""

from collections.abc import Iterable, Iterator
from typing import Any

from runs.pipelines.context import ALWAYS, step_keys
from runs.pipelines.names import Finding, Scope, check_expression, check_template
from runs.pipelines.schema import (
    FanOut,
    HumanCheck,
    NotificationRules,
    Parallel,
    Pipeline,
    ShellCheck,
    Step,
    StepBody,
    WebhookCheck,
)

Location = tuple[str | int, ...]
Found = tuple[Location, int, str]
"""Where, on which line of that text, and what is wrong."""

LOOP = frozenset({"iteration", "prior_confidence", "prior_output"})
NOTICE = frozenset({"event", "step", "reason", "trust", "threshold", "confidence", "run_url"})
RESPONSE = frozenset({"status_code", "body", "text"})
_PAYLOAD = "add it to context_template.include, which lists the further fields of the payload that templates may name"
_ELSEWHERE = {
    "data": _PAYLOAD,
    "event": _PAYLOAD,
    "source": _PAYLOAD,
    "notice": "it exists in the templates of notifications and of on_failure.webhook",
    "loop": "it exists in the prompt_template and executor_config of a step with loop_until",
    "output": "it exists in deterministic_checks only (an earlier step is steps.NAME)",
    "result": "it exists in the expect of a shell check only",
    "stdout": "it exists in the expect of a shell check only",
    "stderr": "it exists in the expect of a shell check only",
    "exit_code": "it exists in the expect of a shell check only",
    "response": "it exists in the expect of a webhook check only",
}


def check_texts(pipeline: Pipeline) -> Iterator[Found]:
    """Every template and expression of the pipeline that cannot work."""
    every = [key for entry in pipeline.entries for key in step_keys(entry.name)]
    before: list[str] = []
    groups: list[str] = []
    for position, entry in enumerate(pipeline.entries):
        scope = _scope(pipeline, entry.name, Keys(before, groups), every)
        for location, line, message in _entry(entry, scope):
            yield ("steps", position, *location), line, message
        before += step_keys(entry.name)
        if isinstance(entry, Parallel):
            before += [key for branch in entry.steps for key in step_keys(f"{entry.name}/{branch.name}")]
        elif isinstance(entry, FanOut):
            groups += step_keys(entry.name)
    yield from _notifications(pipeline, _scope(pipeline, "", Keys(before, groups), every))


def _notifications(pipeline: Pipeline, scope: Scope) -> Iterator[Found]:
    """Messages see every step, since any of them may be what they are about."""
    seeing = scope.plus({"notice": NOTICE})
    for event in NotificationRules.model_fields if pipeline.notifications else ():
        for place, wanted in enumerate(getattr(pipeline.notifications, event)):
            where = ("notifications", event, place)
            if wanted.template is not None:
                yield from _at((*where, "template"), check_template(wanted.template, seeing))
            yield from _config((*where, "config"), wanted.config, seeing)


def _on_failure(step: StepBody, scope: Scope) -> Iterator[Found]:
    webhook = step.on_failure.webhook
    seeing = scope.plus({"notice": NOTICE})
    for name in ("url", "headers", "payload"):
        yield from _config(("on_failure", "webhook", name), getattr(webhook, name, None), seeing)


class Keys(frozenset[str]):
    """Names that are known now, and the branches of fan-outs (``group/0``), of which only the group is."""

    fan_outs: tuple[str, ...]

    def __new__(cls, names: Iterable[str], fan_outs: Iterable[str] = ()) -> "Keys":
        keys = super().__new__(cls, names)
        keys.fan_outs = tuple(f"{name}/" for name in fan_outs)
        return keys

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        group = next((start for start in self.fan_outs if isinstance(name, str) and name.startswith(start)), None)
        return group is not None and str(name)[len(group) :].isdecimal()


def _entry(entry: Step | Parallel | FanOut, scope: Scope) -> Iterator[Found]:
    if isinstance(entry, Step):
        yield from _step(entry, scope)
        yield from _on_failure(entry, scope)
    elif isinstance(entry, FanOut):
        if entry.when is not None:
            yield from _at(("fan_out", "when"), check_expression(entry.when, scope))
        yield from _at(("fan_out", "over"), check_template(entry.over, scope))
        inner = scope.plus(dict.fromkeys((entry.as_, "fan_out_index", "fan_out_total")))
        for location, line, message in _step(entry.model_copy(update={"when": None}), inner):
            yield ("fan_out", *location), line, message
        for location, line, message in _on_failure(entry, scope):  # about the group, and not about one item
            yield ("fan_out", *location), line, message
    else:
        if entry.when is not None:
            yield from _at(("parallel", "when"), check_expression(entry.when, scope))
        for place, branch in enumerate(entry.steps):
            for location, line, message in (*_step(branch, scope), *_on_failure(branch, scope)):
                yield ("parallel", "steps", place, *location), line, message


def _scope(pipeline: Pipeline, name: str, before: Keys, every: list[str]) -> Scope:
    names: dict[str, frozenset[str] | None] = dict.fromkeys(ALWAYS)
    names.update(dict.fromkeys(pipeline.context_template.include))
    names["vars"] = frozenset(pipeline.vars)
    names["steps"] = names["artifacts"] = before
    elsewhere = dict(_ELSEWHERE)
    for key in set(every) - set(before):
        own = key in step_keys(name)
        reason = "a step cannot see its own answer" if own else "that step comes later"
        elsewhere[f"steps.{key}"] = elsewhere[f"artifacts.{key}"] = reason
    return Scope(names, elsewhere)


def _step(step: StepBody, scope: Scope) -> Iterator[Found]:
    looped = scope.plus({"loop": LOOP}) if step.loop_until is not None else scope
    if step.when is not None:
        yield from _at(("when",), check_expression(step.when, scope))
    if step.prompt_template is not None:
        yield from _at(("prompt_template",), check_template(step.prompt_template, looped))
    yield from _config(("executor_config",), step.executor_config, looped)
    if step.verifier is not None:
        seeing = scope if step.verifier.mode == "independent" else looped
        yield from _config(("verifier", "executor_config"), step.verifier.executor_config, seeing)
    if step.grounding is not None:
        yield from _config(("grounding", "executor_config"), step.grounding.executor_config, scope)
    for position, check in enumerate(step.deterministic_checks):
        for location, line, message in _check(check, scope.plus({"output": None})):
            yield ("deterministic_checks", position, *location), line, message


def _check(check: Any, scope: Scope) -> Iterator[Found]:
    if isinstance(check, ShellCheck):
        yield from _at(("run",), check_template(check.run, scope, in_shell=True))
        after = scope.plus(dict.fromkeys(("result", "stdout", "stderr", "exit_code")))
        yield from _at(("expect",), check_expression(check.expect, after))
    elif isinstance(check, WebhookCheck):
        for name in ("url", "headers", "payload"):
            yield from _config((name,), getattr(check, name), scope)
        yield from _at(("expect",), check_expression(check.expect, scope.plus({"response": RESPONSE})))
    elif isinstance(check, HumanCheck):
        yield from _at(("message",), check_template(check.message, scope))


def _config(location: Location, value: Any, scope: Scope) -> Iterator[Found]:
    if isinstance(value, str):
        yield from _at(location, check_template(value, scope))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _config((*location, key), item, scope)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _config((*location, position), item, scope)


def _at(location: Location, findings: list[Finding]) -> Iterator[Found]:
    for line, message in findings:
        yield location, line, message
