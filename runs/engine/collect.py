"""Seeing to it that a step has all the signals it asks for, each gathered once."""

from django.utils import timezone

from runs import rows
from runs.engine import gather, leases, loop, primary, transactions
from runs.engine.claimed import Claimed
from runs.engine.leases import Lease
from runs.models import Signal
from runs.signals.base import Subject


def collect(claimed: Claimed, *, verifier_only: bool = False, hold_last: bool = False) -> None:
    """Gather what is still missing into ``prepared.signals``.

    Each batch is written as it ends; with ``hold_last`` the last one is left in ``prepared.unsaved``,
    to be written with the decision. Raises LeaseLost, and Stopped when told to stop meanwhile.
    """
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
        left -= len(batch)
        prepared.signals += batch
        if left == 0 and hold_last:
            prepared.unsaved = batch
        else:
            _write(batch, lease)


def _write(batch: list[Signal], lease: Lease) -> None:
    def body() -> None:
        leases.fenced_update(lease, wake_at=leases.until(timezone.now()))
        rows.insert(batch)

    transactions.write(body)


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
