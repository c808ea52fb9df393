"""What the calls of steps took, as far as it is known."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Sum

from runs.models import Run, Signal, SignalKind, SignalState, Step, StepStatus
from runs.pricing import Call, Price, cost_of

# What a run keeps of it.
_OF_RUN = ("tokens", "steps_untold", "cost_nanos", "steps_unpriced")


@dataclass(frozen=True)
class Spent:
    """``tokens`` and ``cost_nanos`` (billionths of a dollar): as far as they are known.

    ``steps`` called a model; ``steps_untold`` of them did not tell all their tokens, and the cost of
    ``steps_unpriced`` is not known.
    """

    steps: int = 0
    tokens: int = 0
    steps_untold: int = 0
    cost_nanos: int = 0
    steps_unpriced: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.steps + other.steps,
            self.tokens + other.tokens,
            self.steps_untold + other.steps_untold,
            self.cost_nanos + other.cost_nanos,
            self.steps_unpriced + other.steps_unpriced,
        )

    def __neg__(self) -> "Spent":
        return Spent(-self.steps, -self.tokens, -self.steps_untold, -self.cost_nanos, -self.steps_unpriced)

    @property
    def known_cost(self) -> int | None:
        """The cost when all of it is known, else None."""
        return None if self.steps_unpriced else self.cost_nanos

    def of_run(self) -> dict[str, int]:
        """What is added to the columns of a run; empty when that is nothing."""
        added = {name: getattr(self, name) for name in _OF_RUN}
        return added if any(added.values()) else {}


NOTHING = Spent()


def of_run(run: Run) -> Spent:
    """What a run has spent so far; how many steps that were is not kept."""
    return Spent(**{name: getattr(run, name) for name in _OF_RUN})


def of_step(row: Step, signals: Iterable[Signal], prices: Sequence[Price]) -> Spent:
    """What the step's own calls took: every pass and every try that told its tokens, and every judge.

    A step that called nobody spent nothing, which is known.
    """
    calls = _calls(row, signals)
    return _spent(calls, cost_of(calls, prices))


def of_priced(row: Step, signals: Iterable[Signal]) -> Spent:
    """The same of a step whose cost was settled when it ended."""
    return _spent(_calls(row, signals), row.cost_nanos)


def set_aside(row: Step) -> None:
    """Keep the tokens of a try whose answer does not count; the row's columns are for the one that does.

    A try that told none is not kept: nobody can tell whether it came as far as the model.
    """
    if row.input_tokens is None and row.output_tokens is None:
        return
    kept = {name: getattr(row, name) for name in ("provider", "model", "input_tokens", "output_tokens")}
    row.retried = [*row.retried, kept]
    row.input_tokens = row.output_tokens = None


def remember(run: Run, spent: Spent) -> None:
    """Bring a run in memory up to what was added to its row."""
    for name, n in spent.of_run().items():
        setattr(run, name, getattr(run, name) + n)


def of_children(step_id: uuid.UUID) -> Spent:
    """What the runs spent that the step has started. One query."""
    sums = Run.objects.filter(parent_step_id=step_id).aggregate(**{name: Sum(name, default=0) for name in _OF_RUN})
    return Spent(**sums)


def of_branches(run_id: uuid.UUID, index: int) -> int | None:
    """Nanodollars of all branches of the group at that place; None when the cost of one is not known. One query."""
    costs = Step.objects.filter(run_id=run_id, index=index, branch__isnull=False).values_list("cost_nanos", flat=True)
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _calls(row: Step, signals: Iterable[Signal]) -> list[Call]:
    return [*_primary(row), *_retried(row), *_judges(signals)]


def _spent(calls: Sequence[Call], cost: int | None) -> Spent:
    if not calls and not cost:
        return NOTHING
    untold = not all(call.is_told for call in calls)
    return Spent(1, sum(call.tokens for call in calls), int(untold), cost or 0, int(cost is None))


def _primary(row: Step) -> Iterator[Call]:
    """One call for each pass; none when the step's agent was never asked."""
    if not row.agent or row.status == StepStatus.SKIPPED:
        return
    passes: list[Mapping[str, Any]] = row.iterations
    yield from map(_call, passes)
    settled = any(one["chosen"] for one in passes)
    asked = row.tries > 0 or (row.attempts > 1 and row.started_at is not None)
    if asked and not settled:
        yield Call(row.provider, row.model, row.input_tokens, row.output_tokens)


def _retried(row: Step) -> Iterator[Call]:
    return map(_call, row.retried)


def _judges(signals: Iterable[Signal]) -> Iterator[Call]:
    for one in signals:
        if one.kind != SignalKind.CHECK and one.state != SignalState.SKIPPED:
            yield Call(one.provider, one.model, one.input_tokens, one.output_tokens)


def _call(told: Mapping[str, Any]) -> Call:
    return Call(told["provider"], told["model"], told["input_tokens"], told["output_tokens"])
