"""The executors by the name pipelines know them by.

They are loaded on first use, so that importing the contract alone (``runs.executors.base``) stays light.
"""

from functools import cache

from runs.executors.base import Executor, ExecutorError

KINDS: tuple[str, ...] = ("command", "gateway", "webhook", "notify", "pipeline", "human")


def get(kind: str) -> Executor:
    """Raises ExecutorError for a kind that does not exist."""
    executor = _executors().get(kind)
    if executor is None:
        raise ExecutorError(f"unknown executor {kind!r}; there are {', '.join(KINDS)}", retryable=False)
    return executor


@cache
def _executors() -> dict[str, Executor]:
    from runs.executors.awaited import Awaited
    from runs.executors.command import Command
    from runs.executors.gateway import Gateway
    from runs.executors.notify import Notify
    from runs.executors.webhook import Webhook

    kinds = (Command(), Gateway(), Webhook(), Notify(), Awaited("pipeline"), Awaited("human"))
    return {executor.kind: executor for executor in kinds}
