"""Seeing to it that a step has all the signals it asks for, each gathered once."""

from collections.abc import Callable, Iterator

from django.utils import timezone

from runs import rows
from runs.engine import gather, leases, loop, primary, transactions
from runs.engine.claimed import Claimed
from runs.engine.leases import Lease
from runs.models import Signal
from runs.signals.base import Subject


def for_pass(claimed: Claimed) -> None:
    """Gather the verifier of the pass at hand, and write it. Raises LeaseLost and Stopped."""
    for batch, _ in _missing(claimed, verifier_only=True):
        _write(batch, claimed.lease)


def for_decision(claimed: Claimed, *, keep_answer: Callable[[], None]) -> None:
    """Gather all that is still missing; the last to end stay in ``prepared.unsaved``, for the decision's transaction.

    When signals take longer than a moment, the answer is kept first: a crash while they are gathered
    then repeats no call of the agent. Raises LeaseLost and Stopped.
    """
    prepared = claimed.prepared
    for batch, is_last in _missing(claimed, verifier_only=False):
        if is_last:
            prepared.unsaved = batch
            return
        if not prepared.answer_saved:
            keep_answer()
        _write(batch, claimed.lease)


def _missing(claimed: Claimed, *, verifier_only: bool) -> Iterator[tuple[list[Signal], bool]]:
    """Batches as they end, each with whether nothing is left after it."""
    prepared, lease = claimed.prepared, claimed.lease
    have = {(one.kind, one.position) for one in loop.of_pass(prepared.row, prepared.signals)}
    wants = [
        want
        for want in gather.wanted(prepared.definition, verifier_only=verifier_only)
        if (want.kind, want.position) not in have
    ]
    if not wants:
        return
    primary.release_connection()
    left = len(wants)
    for batch in gather.gather(prepared, _subject(claimed), wants, lease.stop):
        lease.stop.raise_if_set()
        prepared.signals += batch
        left -= len(batch)
        yield batch, left == 0


def _write(batch: list[Signal], lease: Lease) -> None:
    if not batch:
        return
    transactions.write_all([leases.fenced(lease, wake_at=leases.until(timezone.now())), *rows.insertion(batch)])


def _subject(claimed: Claimed) -> Subject:
    row = claimed.row
    return Subject(
        prompt=row.prompt,
        blind_prompt=loop.first_prompt(row),
        answer=row.parsed_output or {},
        answer_text=row.raw_output,
        trace=row.agent_trace,
        primary_confidence=row.primary_confidence,
        context={**claimed.prepared.context, "output": row.parsed_output or {}},
        call_context=primary.call_context(claimed.state.run, row.name, "judge"),
        idempotency_key=f"{row.id}-{loop.current_pass(row)}",
    )
