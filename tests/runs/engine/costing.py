"""Agents that tell what they used, and what a token costs, for tests of costs and budgets."""

from typing import Any

from tests.pipelines import judge, step
from vectorstep import config

# A thousand read and a hundred written tokens of "big" cost 1000 x 2 + 100 x 10 = 3000 millionths of a dollar.
PRICES = [{"match": {"provider": "acme", "model": "big"}, "input_per_mtok": 2, "output_per_mtok": 10}]
COST = 3_000_000  # nanodollars


def set_prices(settings: Any, prices: list[dict[str, Any]]) -> None:
    settings.SERVICE = config.Service.model_validate({**settings.SERVICE.model_dump(), "prices": prices})


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
