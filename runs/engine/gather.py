"""Gathering a step's signals side by side, in threads of the task that ran the step.

The threads touch no database. What has ended is handed back in batches, so that a crash repeats
only what had not ended, and signals that end together cost one write.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from runs.engine import loop
from runs.engine.plan import Prepared
from runs.executors.base import Stop
from runs.models import Signal, SignalKind
from runs.pipelines import schema
from runs.signals import checks, grounding, verifier
from runs.signals.base import Outcome, Subject
from runs.storable import storable, storable_count, storable_name, storable_reason, storable_text

# Ends within this many seconds of each other are written together.
TOGETHER = 0.1

_threads = ThreadPoolExecutor(max_workers=512, thread_name_prefix="signal")


@dataclass(frozen=True)
class Wanted:
    """One signal a step's definition asks for."""

    kind: SignalKind
    position: int
    name: str
    config: Any  # schema.Verifier, schema.Grounding or a check

    @property
    def key(self) -> tuple[str, int]:
        return (self.kind, self.position)


def wanted(definition: schema.StepBody, *, verifier_only: bool = False) -> list[Wanted]:
    """What the step asks for, in the order of the formula."""
    found = []
    if definition.verifier is not None:
        found.append(Wanted(SignalKind.VERIFIER, 0, "verifier", definition.verifier))
    if verifier_only:
        return found
    if definition.grounding is not None:
        found.append(Wanted(SignalKind.GROUNDING, 0, "grounding", definition.grounding))
    found += [
        Wanted(SignalKind.CHECK, position, check.name, check)
        for position, check in enumerate(definition.deterministic_checks)
        if not isinstance(check, schema.HumanCheck)  # asked when all others have answered (``people.py``)
    ]
    return found


def gather(prepared: Prepared, subject: Subject, wants: list[Wanted], stop: Stop) -> Iterator[list[Signal]]:
    """Yield unsaved Signal rows in batches, as they end; the first batch, maybe empty, within TOGETHER seconds.

    A signal that fails is an outcome, not an error.
    """
    pending = {_threads.submit(_one, prepared, subject, want, stop) for want in wants}
    done, pending = wait(pending, timeout=TOGETHER)
    yield [future.result() for future in done]
    while pending:
        wait(pending, return_when=FIRST_COMPLETED)
        done, pending = wait(pending, timeout=TOGETHER)
        yield [future.result() for future in done]


def _one(prepared: Prepared, subject: Subject, want: Wanted, stop: Stop) -> Signal:
    started_at, started = timezone.now(), time.monotonic()
    outcome = _GATHERERS[want.kind](subject, want.config, stop)
    return _row(prepared, want, outcome, started_at, round((time.monotonic() - started) * 1000))


_GATHERERS: dict[str, Callable[[Subject, Any, Stop], Outcome]] = {
    SignalKind.VERIFIER: verifier.gather,
    SignalKind.GROUNDING: grounding.gather,
    SignalKind.CHECK: checks.gather,
}


def _row(prepared: Prepared, want: Wanted, outcome: Outcome, started_at: datetime, duration_ms: int) -> Signal:
    return Signal(
        step_id=prepared.row.id,
        iteration=loop.current_pass(prepared.row),
        kind=want.kind,
        position=want.position,
        name=want.name,
        state=outcome.state,
        score=outcome.score,
        passed=outcome.passed,
        detail=storable(dict(outcome.detail)),
        error=storable_reason(outcome.error),
        prompt=storable_text(outcome.prompt),
        raw_output=storable_text(outcome.raw_output),
        agent=outcome.agent,
        model=storable_name(outcome.model),
        provider=storable_name(outcome.provider),
        input_tokens=storable_count(outcome.input_tokens),
        output_tokens=storable_count(outcome.output_tokens),
        started_at=started_at,
        completed_at=timezone.now(),
        duration_ms=duration_ms,
    )
