"""What a budget says of numbers, by hand."""

import pytest

from runs.engine.run_budget import judge
from runs.pipelines.schema import Budget
from runs.spending import Spent

TOKENS, USD = {"max_tokens": 1000}, {"max_usd": 0.5}
BOTH = {**TOKENS, **USD}


@pytest.mark.parametrize(
    ("limits", "spent"),
    [
        (TOKENS, Spent(tokens=1000)),
        (TOKENS, Spent(tokens=1000, cost_nanos=10**12, steps_unpriced=3)),  # money is not limited
        (USD, Spent(tokens=10**9, cost_nanos=500_000_000)),
        (BOTH, Spent(tokens=1000, cost_nanos=500_000_000)),
        (BOTH, Spent()),
    ],
)
def test_within_the_budget(limits, spent):
    found = judge(Budget(**limits), spent)
    assert (found.refusal, found.warning) == ("", "")


def test_without_a_budget_everything_goes():
    assert judge(None, Spent(tokens=10**12, steps_unpriced=9)).refusal == ""


@pytest.mark.parametrize(
    ("limits", "spent", "reason"),
    [
        (TOKENS, Spent(tokens=1001), "over budget: 1,001 tokens spent, max_tokens is 1,000"),
        (USD, Spent(cost_nanos=500_000_001), "over budget: 0.500000001 $ spent, max_usd is 0.5"),
        (
            BOTH,
            Spent(tokens=2000, cost_nanos=10**9),
            "over budget: 2,000 tokens spent, max_tokens is 1,000 and 1 $ spent, max_usd is 0.5",
        ),
        # What is known is too much already, whatever the rest was.
        (USD, Spent(cost_nanos=10**9, steps_unpriced=1), "over budget: 1 $ spent, max_usd is 0.5"),
        (
            TOKENS,
            Spent(tokens=1001, steps_untold=1, steps_unpriced=1),
            "over budget: 1,001 tokens spent, max_tokens is 1,000",
        ),
    ],
)
def test_over_the_budget(limits, spent, reason):
    assert judge(Budget(**limits), spent).refusal == reason


@pytest.mark.parametrize(
    ("limits", "spent", "reason"),
    [
        (
            USD,
            Spent(cost_nanos=10**8, steps_unpriced=1),
            "budget cannot be checked: 1 step without a known price beside 0.1 $ spent, max_usd is 0.5",
        ),
        (
            TOKENS,
            Spent(tokens=10, steps_untold=2, steps_unpriced=2),
            "budget cannot be checked: 2 steps told no tokens, max_tokens is 1,000",
        ),
        (
            BOTH,
            Spent(steps_untold=1, steps_unpriced=1),
            "budget cannot be checked: 1 step told no tokens, max_tokens is 1,000 and "
            "1 step without a known price beside 0 $ spent, max_usd is 0.5",
        ),
    ],
)
def test_a_budget_of_which_nothing_can_be_checked_fails_closed(limits, spent, reason):
    assert judge(Budget(**limits), spent).refusal == reason


def test_a_limit_that_can_be_checked_is_enough():
    found = judge(Budget(**BOTH), Spent(tokens=10, steps_unpriced=1))
    assert found.refusal == ""
    assert found.warning == "1 step without a known price beside 0 $ spent, max_usd is 0.5"
