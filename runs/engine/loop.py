"""``loop_until``: pass after pass until one is confident enough; the most confident pass counts."""

from typing import Any

from runs.engine import plan
from runs.engine.plan import Prepared
from runs.engine.state import RunState
from runs.models import Signal, SignalKind, Step, StepStatus
from runs.trust import vector

# What belongs to one pass; the rest of the row belongs to the step.
PASS_FIELDS = (
    "prompt",
    "raw_output",
    "parsed_output",
    "agent_trace",
    "model",
    "provider",
    "agent_version",
    "primary_confidence",
    "effective_confidence",
    "input_tokens",
    "output_tokens",
    "duration_ms",
)


def is_settled(row: Step) -> bool:
    """Whether the pass that counts has been chosen."""
    return any(one["chosen"] for one in row.iterations)


def current_pass(row: Step) -> int:
    """The number (from 0) of the pass that the row's columns show."""
    return next((number for number, one in enumerate(row.iterations) if one["chosen"]), len(row.iterations))


def note_confidence(row: Step, verifier: vector.VerifierInput | None) -> None:
    """S after V of the pass at hand: what the loop compares."""
    row.effective_confidence = vector.s_after_v(row.primary_confidence, verifier)


def wants_another(prepared: Prepared) -> bool:
    """Whether the pass at hand falls short and one more is allowed."""
    until = prepared.definition.loop_until
    assert until is not None
    reached = prepared.row.effective_confidence
    if reached is not None and reached >= until.confidence:
        return False
    return len(prepared.row.iterations) + 1 < until.max_iterations


def begin_another(state: RunState, prepared: Prepared) -> list[str]:
    """Put the pass at hand aside and render the next one, which sees it as ``loop.*``; the warnings.

    Raises TemplateError.
    """
    row = prepared.row
    row.iterations = [*row.iterations, _snapshot(row, chosen=False)]
    row.status = StepStatus.RUNNING
    row.tries = 0
    prepared.context = plan.step_context(state, prepared.definition, row)
    for name in ("raw_output", "model", "provider", "agent_version"):
        setattr(row, name, "")
    for name in ("parsed_output", "agent_trace", "primary_confidence", "effective_confidence"):
        setattr(row, name, None)
    row.input_tokens = row.output_tokens = row.duration_ms = None
    return plan.render(prepared)


def settle(row: Step) -> None:
    """Choose the most confident pass (the earliest of equals) and put it into the row's columns."""
    passes = [*row.iterations, _snapshot(row, chosen=False)]
    best = max(passes, key=lambda one: -1.0 if one["effective_confidence"] is None else one["effective_confidence"])
    best["chosen"] = True
    row.iterations = passes
    for name in PASS_FIELDS:
        setattr(row, name, best[name])


def give_up_pass(row: Step) -> bool:
    """Fall back on the passes that worked when the pass at hand failed; False when there is none."""
    if not row.iterations:
        return False
    last = row.iterations[-1]
    row.iterations = row.iterations[:-1]
    for name in PASS_FIELDS:
        setattr(row, name, last[name])
    settle(row)
    return True


def first_prompt(row: Step) -> str:
    """The prompt as it was before any answer existed: all an independent verifier may see."""
    return str(row.iterations[0]["prompt"]) if row.iterations else row.prompt


def of_pass(row: Step, signals: list[Signal]) -> list[Signal]:
    """The signals of the pass that the row shows."""
    number = current_pass(row)
    return [signal for signal in signals if signal.iteration == number or signal.kind == SignalKind.CHECK]


def _snapshot(row: Step, *, chosen: bool) -> dict[str, Any]:
    return {**{name: getattr(row, name) for name in PASS_FIELDS}, "chosen": chosen}
