"""What a step is set up to do, in words, from the definition the run executes."""

import json
from collections.abc import Mapping
from typing import Any

import yaml

from runs import executors
from runs.views.wording import percent

LOW = {
    "escalate": "wait for a person",
    "abort": "end the run",
    "proceed": "go on all the same",
}


def rows(definition: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(name, value) of every mechanism that is on; mechanisms left out are off."""
    if not definition:
        return []
    found = [("Executor", str(definition.get("executor", "")))]
    if is_gated(definition):
        found += _gate(definition)
        found += _verifier(definition.get("verifier"))
        found += _grounding(definition.get("grounding"))
        found += _calibration(definition.get("calibration"))
    checks = definition.get("deterministic_checks") or []
    if checks:
        found.append(("Checks", ", ".join(f"{check.get('name', '')} ({check.get('type', '')})" for check in checks)))
    found += _flow(definition)
    return [(name, value) for name, value in found if value]


def is_gated(definition: Mapping[str, Any]) -> bool:
    """Whether the step's executor is an agent, whose answer carries a confidence."""
    kind = str(definition.get("executor", ""))
    return kind in executors.KINDS and executors.get(kind).is_agent


def _gate(definition: Mapping[str, Any]) -> list[tuple[str, str]]:
    threshold = definition.get("confidence_threshold", 0.75)
    if threshold is None:
        return []  # a branch that leaves it to its group
    low = definition.get("on_low_confidence", "escalate")
    return [("Threshold", percent(threshold)), ("Below it", LOW.get(low, str(low)))]


def _verifier(verifier: Any) -> list[tuple[str, str]]:
    if not isinstance(verifier, dict):
        return [("Verifier", "off")]
    text = str(verifier.get("mode", "critic"))
    if verifier.get("combination_strategy") == "veto":
        text += f", may veto below {percent(verifier.get('veto_floor', 0.6))}"
    else:
        text += ", the lower of the two counts"
    trigger = verifier.get("trigger")
    if isinstance(trigger, dict) and not trigger.get("always"):
        low, high = trigger.get("confidence_above", 0.0), trigger.get("confidence_below", 1.0)
        text += f", asked between {percent(low)} and {percent(high)}"
    return [("Verifier", text + _on_error(verifier))]


def _grounding(grounding: Any) -> list[tuple[str, str]]:
    if not isinstance(grounding, dict):
        return [("Grounding", "off")]
    text = "enforced: caps trust" if grounding.get("enforce") else "shadow: recorded, changes nothing"
    seen = grounding.get("max_trace_chars", 1500)
    return [("Grounding", f"{text}; the judge sees {seen:,} characters per tool result{_on_error(grounding)}")]


def _calibration(calibration: Any) -> list[tuple[str, str]]:
    if not isinstance(calibration, dict) or not calibration.get("enforce"):
        return [("Calibration", "advisory: measured, changes nothing")]
    unproven = "waits for a person" if calibration.get("on_uncalibrated") == "escalate" else "passes unchanged"
    return [("Calibration", f"enforced: the track record replaces the number; without one it {unproven}")]


def _on_error(signal: Mapping[str, Any]) -> str:
    return "; escalates when it cannot be had" if signal.get("on_error") == "escalate" else ""


def _flow(definition: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    if definition.get("when"):
        found.append(("Only when", str(definition["when"])))
    if definition.get("timeout_seconds"):
        found.append(("Timeout", f"{definition['timeout_seconds']:g} s per try"))
    retry = definition.get("retry")
    if isinstance(retry, dict):
        found.append(("Tries", f"{retry.get('attempts', 3)}, {retry.get('backoff', 'fixed')} delay"))
    loop = definition.get("loop_until")
    if isinstance(loop, dict):
        found.append(
            ("Repeats", f"until {percent(loop.get('confidence'))}, at most {loop.get('max_iterations', 3)} times")
        )
    failure = definition.get("on_failure")
    policy = failure.get("policy") if isinstance(failure, dict) else failure
    if policy == "continue":
        found.append(("On failure", "go on with the next step"))
    return found


def written(definition: Mapping[str, Any]) -> str:
    """The whole definition as YAML."""
    return yaml.safe_dump(dict(definition), sort_keys=False, allow_unicode=True, width=100) if definition else ""


def value_text(value: Any) -> str:
    """A text as it is, anything else as JSON a person can read."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
