"""Asking the ``command`` executor in tests."""

import json
import sys

import pytest

from runs import executors
from runs.executors.base import Call, ExecutorError, Stop


def ask(script="", *, command=None, timeout=20.0, stop=None, on_event=None, prompt="hello", context=None, **config):
    """Run this Python script as an agent."""
    config["command"] = command or [sys.executable, "-c", script]
    call = Call(prompt=prompt, config=config, timeout=timeout, idempotency_key="key-1", context=context or {})
    return executors.get("command").call(call, stop or Stop(), on_event or (lambda event: None))


def refused(*args, **kwargs):
    with pytest.raises(ExecutorError) as caught:
        ask(*args, **kwargs)
    return caught.value


def printing(*messages):
    return "\n".join(f"print({json.dumps(json.dumps(message))}, flush=True)" for message in messages)
