"""Agents that tell what they used, and what a token costs, for tests of costs and budgets."""

from decimal import Decimal
from typing import Any

from runs.pricing import Price
from tests.pipelines import judge, step

# A thousand read and a hundred written tokens of "big" cost 1000 x 2 + 100 x 10 = 3000 millionths of a dollar.
PRICES = [Price("acme", "big", Decimal(2), Decimal(10))]
COST = 3_000_000  # nanodollars


def usage(read: int | None = 1000, written: int | None = 100, *, model: str = "big", provider: str = "acme") -> Any:
    told: list[dict[str, Any]] = [{"type": "model", "model": model, "provider": provider}]
    if read is not None:
        told.append({"type": "usage", "input_tokens": read})
    if written is not None:
        told.append({"type": "usage", "output_tokens": written})
    return told


def paid(name: str = "look", *, trace: Any = None, says: Any = 0.9, agent: Any = None, **fields: Any) -> Any:
    """A step whose agent tells its usage."""
    spec = {"says": says, "trace": usage() if trace is None else trace, **(agent or {})}
    return step(name, agent=spec, **fields)


def paid_judge(**spec: Any) -> Any:
    return judge(**{"trace": usage(), **spec})


def free(name: str = "free", **fields: Any) -> Any:
    """A step that calls no model."""
    return {"name": name, "executor": "human", "executor_config": {"message": "?"}, "when": "false", **fields}
