"""The primary call of a step: ask the executor, hold its answer to the contract, put both in the row."""

import json
import logging
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from runs import answer, events, executors, rows
from runs.engine.leases import Lease
from runs.engine.plan import Prepared
from runs.engine.state import RunState
from runs.executors.base import Call, Executor, ExecutorError, Reply, TraceEvent
from runs.models import Run, RunEvent, Step
from runs.pipelines import definitions
from runs.storable import storable, storable_count, storable_name, storable_text

logger = logging.getLogger(__name__)

LIVE_AFTER = 0.5  # seconds: a call that lasts longer shows its trace while it runs
LIVE_AT_MOST = 2_000  # events of one call; a flood of them shall not fill the log
EXCERPT = 300  # characters of a trace event shown in the log; the whole of it is in the step's trace


@dataclass
class Failed(Exception):
    """The call gave no usable answer; ``retryable`` says whether asking again can help."""

    message: str
    retryable: bool


def ask(state: RunState, prepared: Prepared, lease: Lease) -> None:
    """Call the executor and fill ``prepared.row`` with the answer.

    Raises Failed (the row keeps the raw text and the trace) and Stopped.
    """
    row = prepared.row
    executor = executors.get(prepared.definition.executor)
    release_connection()
    live = LiveTrace(state.run, row.name)
    started = time.monotonic()
    try:
        reply = executor.call(_call(state, prepared, executor), lease.stop, live.add)
    except ExecutorError as error:
        lease.stop.raise_if_set()
        row.raw_output = storable_text(error.raw)
        row.agent_trace = storable(error.trace)
        row.duration_ms = _milliseconds(started)
        raise Failed(str(error), error.retryable) from error
    row.duration_ms = _milliseconds(started)
    _take(prepared, reply)
    _parse(state, prepared, executor, reply)


def _call(state: RunState, prepared: Prepared, executor: Executor) -> Call:
    row, definition = prepared.row, prepared.definition
    return Call(
        prompt=row.prompt,
        config=prepared.config,
        timeout=timeout_of(definition.timeout_seconds, prepared.config, executor),
        idempotency_key=_key(row, executor),
        context=call_context(state.run, row.name, "primary"),
    )


def _key(row: Step, executor: Executor) -> str:
    """The same when a crash makes the call again; an agent that is asked again after a bad answer gets a new one."""
    key = f"{row.id}-{len(row.iterations)}"
    return f"{key}-{row.tries}" if executor.is_agent else key


def call_context(run: Run, step_name: str, role: str) -> dict[str, Any]:
    """The facts of the run a local program may want, beside its prompt."""
    return {
        "run_id": str(run.id),
        "pipeline": run.pipeline_name,
        "step": step_name,
        "role": role,
        "stage": run.stage,
        "input": run.context,
    }


def timeout_of(step_timeout: float | None, config: Mapping[str, Any], executor: Executor) -> float:
    """Seconds for one attempt: the step's own, else its executor_config's, else the executor's default."""
    return float(step_timeout or config.get("timeout_seconds") or executor.default_timeout)


def _take(prepared: Prepared, reply: Reply) -> None:
    row = prepared.row
    row.raw_output = storable_text(reply.text)
    row.agent_trace = storable(reply.trace)
    row.model = storable_name(reply.model)
    row.provider = storable_name(reply.provider)
    row.agent_version = storable_name(reply.agent_version)
    row.input_tokens = storable_count(reply.input_tokens)
    row.output_tokens = storable_count(reply.output_tokens)


def _parse(state: RunState, prepared: Prepared, executor: Executor, reply: Reply) -> None:
    row = prepared.row
    if not executor.is_agent:
        row.parsed_output = storable(dict(reply.data))
        return
    needed = definitions.needs_confidence(state.pipeline, index=row.index, definition=prepared.definition)
    try:
        parsed = answer.parse(reply.text, require_confidence=needed)
    except answer.ContractError as error:
        raise Failed(f"the answer breaks the contract: {error}", retryable=True) from error
    row.parsed_output = parsed.data
    row.primary_confidence = parsed.confidence


def _milliseconds(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def release_connection() -> None:
    """Give the connection back to the pool before a wait: a hundred slow agents need no hundred connections."""
    if not settings.ON_SQLITE and not connection.in_atomic_block:
        connection.close()


class LiveTrace:
    """Writes the trace of a long call to the run's log while it lasts, a batch at a time."""

    def __init__(self, run: Run, step_name: str) -> None:
        self._run_id: uuid.UUID = run.id
        self._step_name = step_name
        self._written = time.monotonic()
        self._left = LIVE_AT_MOST
        self._waiting: list[tuple[datetime, TraceEvent]] = []

    def add(self, trace_event: TraceEvent) -> None:
        self._left -= 1
        if self._left >= 0:
            self._waiting.append((timezone.now(), trace_event))
        if self._waiting and time.monotonic() - self._written > LIVE_AFTER:
            self._write()
            self._written = time.monotonic()

    def _write(self) -> None:
        try:
            rows.insert([self._row(at, item) for at, item in self._waiting])
        except Error as error:
            # The log can miss lines; the agent's work must not be lost with them. The trace is kept in the step.
            logger.warning("the live trace of run %s misses lines: %s", self._run_id, error)
            connection.close()
        self._waiting.clear()
        release_connection()

    def _row(self, at: datetime, item: TraceEvent) -> RunEvent:
        kind = str(item.get("type", "event"))
        told = " ".join(_shown(item[key]) for key in ("name", "content", "input", "reason") if key in item)
        return events.event(self._run_id, f"agent.{kind}"[:80], told[:EXCERPT], now=at, step_name=self._step_name)


def _shown(value: Any) -> str:
    """A text as it is, anything else as the agent wrote it: JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
