"""What a message says where its author wrote no template."""

from collections.abc import Iterator

from runs.deliveries.facts import Facts
from runs.models import DeliveryEvent

_HEADS = {
    DeliveryEvent.ESCALATE: "{pipeline}: {step} waits for a decision",
    DeliveryEvent.ABORT: "{pipeline} was aborted at {step}",
    DeliveryEvent.STOP: "{pipeline} stopped at {step}",
    DeliveryEvent.NOTIFY: "{pipeline} has come to {step}",
    DeliveryEvent.FAILURE: "{pipeline}: {step} failed",
}
_SIGNALS = (
    ("primary_confidence", "the agent said {}"),
    ("verifier_confidence", "the verifier {}"),
    ("grounding_score", "grounding {}"),
)
_CHECKS = {True: "the checks passed", False: "a check failed"}


def head(facts: Facts) -> str:
    """One line that says what happened."""
    told = _HEADS[DeliveryEvent(facts.delivery.event)]
    line = told.format(pipeline=facts.run.pipeline_name, step=facts.delivery.step_name)
    return " ".join(line.split())


def text(facts: Facts) -> str:
    """What happened, why, how far it was trusted, and where to go."""
    return "\n".join([head(facts), *_lines(facts)])


def _lines(facts: Facts) -> Iterator[str]:
    if facts.run.summary:
        yield f"About: {_one_line(facts.run.summary)}"
    if facts.delivery.reason:
        yield f"Why: {_one_line(facts.delivery.reason)}"
    trust = _trust(facts)
    if trust:
        yield f"Trust: {trust}"
    yield f"Run: {facts.url}"


def _trust(facts: Facts) -> str:
    """ "50% of the 75% needed (the agent said 95%, a check failed)"; "" of a step that has none."""
    trust, threshold = facts.number("combined_trust"), facts.number("confidence_threshold")
    if trust is None:
        return ""
    told = [words.format(_percent(facts.number(name))) for name, words in _SIGNALS if facts.number(name) is not None]
    checks = _CHECKS.get(facts.number("deterministic_passed"))
    told += [checks] if checks else []
    needed = f" of the {_percent(threshold)} needed" if threshold is not None else ""
    return _percent(trust) + needed + (f" ({', '.join(told)})" if told else "")


def _percent(value: float) -> str:
    if 0 < value < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= value < 1 else f"{int(value * 100 + 0.5)}%"


def _one_line(said: str) -> str:
    """What a person or an agent wrote, so that it cannot pass for a line of ours."""
    line = " ".join(said.split())
    return line if len(line) <= 500 else f"{line[:500]}…"
