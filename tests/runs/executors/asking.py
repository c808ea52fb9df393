"""Calls of the gateway executor, in one line each."""

import pytest

from runs import executors
from runs.executors.base import Call, ExecutorError, Stop


def ask(agent="triage", *, timeout=10.0, stop=None, on_event=None, prompt="hello", key="step-1", **config):
    call = Call(prompt=prompt, config={"agent": agent, **config}, timeout=timeout, idempotency_key=key)
    return executors.get("gateway").call(call, stop or Stop(), on_event or (lambda event: None))


def refused(**kwargs):
    with pytest.raises(ExecutorError) as caught:
        ask(**kwargs)
    return caught.value
