"""Whether a run may go on: what it has spent, held against its pipeline's budget.

Unknown is never 0: a limit that can no longer be checked, because a step told no tokens or has no known price, fails
closed. The run goes on only while a limit is left that can be checked.
"""

from dataclasses import dataclass

from runs.pipelines.schema import Budget
from runs.pricing import dollars, nanos_of
from runs.spending import Spent


@dataclass(frozen=True)
class Judgement:
    """``refusal``: why the run must not go on. ``warning``: what cannot be checked although it goes on. "" is none."""

    refusal: str = ""
    warning: str = ""


def judge(budget: Budget | None, spent: Spent) -> Judgement:
    """What the budget says of a run that has spent so much."""
    if budget is None:
        return Judgement()
    over = [*_tokens_over(budget, spent), *_cost_over(budget, spent)]
    if over:
        return Judgement(refusal=f"over budget: {' and '.join(over)}")
    blind = _unchecked(budget, spent)
    if not blind:
        return Judgement()
    limits = (budget.max_tokens is not None) + (budget.max_usd is not None)
    said = " and ".join(blind)
    return Judgement(warning=said) if len(blind) < limits else Judgement(refusal=f"budget cannot be checked: {said}")


def _tokens_over(budget: Budget, spent: Spent) -> list[str]:
    if budget.max_tokens is None or spent.tokens <= budget.max_tokens:
        return []
    return [f"{spent.tokens:,} tokens spent, max_tokens is {budget.max_tokens:,}"]


def _cost_over(budget: Budget, spent: Spent) -> list[str]:
    limit = None if budget.max_usd is None else nanos_of(budget.max_usd)
    if limit is None or spent.cost_nanos <= limit:
        return []
    return [f"{_money(spent.cost_nanos)} $ spent, max_usd is {_money(limit)}"]


def _unchecked(budget: Budget, spent: Spent) -> list[str]:
    found = []
    if budget.max_tokens is not None and spent.steps_untold:
        found.append(f"{_steps(spent.steps_untold)} told no tokens, max_tokens is {budget.max_tokens:,}")
    if budget.max_usd is not None and spent.steps_unpriced:
        known = f"{_steps(spent.steps_unpriced)} without a known price beside {_money(spent.cost_nanos)} $ spent"
        found.append(f"{known}, max_usd is {_money(nanos_of(budget.max_usd) or 0)}")
    return found


def _money(nanos: int) -> str:
    return f"{dollars(nanos):f}"


def _steps(n: int) -> str:
    return "1 step" if n == 1 else f"{n:,} steps"
