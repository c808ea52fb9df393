"""Ending a step: by the gate's decision, by failure, or because a person has to look."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from calibration import buckets
from calibration.models import LabelSource
from calibration.statements import Statement
from runs import books, events, outbox, rows, spending
from runs.engine import branches, commit, gate, leases, loop, overspent, plan, sightings
from runs.engine.claimed import Claimed, onward
from runs.engine.opening import opening, withdrawals
from runs.engine.state import RunState
from runs.engine.work import Work
from runs.marking import items
from runs.models import RunEvent, Step, StepStatus
from runs.spending import NOTHING, Spent
from runs.storable import storable_reason

ANSWER_FIELDS = (*loop.PASS_FIELDS, "status", "iterations", "tries", "retried")
DECISION_FIELDS = (
    "status",
    "error",
    "effective_confidence",
    "verifier_confidence",
    "grounding_score",
    "deterministic_passed",
    "combined_trust",
    "trust_report",
    "cost_nanos",
    "completed_at",
    "leased",
    "wake_at",
)


# How the log tells of a step that ended without a decision of the gate.
_ENDS = {
    StepStatus.FAILED: ("step.failed", "failed", "error"),
    StepStatus.ESCALATED: ("step.escalated", "waits for a person", "error"),
    StepStatus.ABORTED: ("step.aborted", "is aborted", "warning"),
    StepStatus.SKIPPED: ("step.skipped", "is skipped", "info"),
}


def end(claimed: Claimed, status: StepStatus, reason: str) -> Claimed | Work | None:
    """Finish the step without a decision of the gate: it failed, its ``when`` is false, a person refused it, or nobody
    can tell what its call did.

    Returns what the run goes on with. Raises LeaseLost or NotOurs.
    """
    row, now = claimed.row, timezone.now()
    kind, became, level = _ENDS[status]
    row.error = "" if status == StepStatus.SKIPPED else storable_reason(reason)
    told = event(claimed, kind, f"{row.name} {became}: {reason}", now=now, level=level)
    return _finish(claimed, status, reason, told=told, verdict=None, now=now)


def decide(claimed: Claimed) -> Claimed | Work | None:
    """Let the gate decide on the signals gathered, and finish the step accordingly.

    Returns what the run goes on with. Raises LeaseLost or NotOurs.
    """
    row, now = claimed.row, timezone.now()
    row.error = ""  # trouble of an earlier claim is over
    verdict = gate.decide(claimed.prepared, loop.of_pass(row, claimed.prepared.signals), now=now)
    calm = verdict.status in {StepStatus.COMPLETED, StepStatus.STOPPED}
    told = event(
        claimed,
        "step.decided",
        f"{row.name} {verdict.status}. {verdict.reason}",
        now=now,
        level="info" if calm else "warning",
    )
    reason = verdict.reason
    if verdict.status == StepStatus.STOPPED:
        reason = str((row.parsed_output or {}).get("proceed_reason") or "its agent saw nothing more to do")
    return _finish(claimed, verdict.status, reason, told=told, verdict=verdict, now=now)


def event(claimed: Claimed, kind: str, message: str, *, now: datetime, **fields: Any) -> RunEvent:
    """A log row about the step."""
    return events.event(claimed.state.run.id, kind, message, now=now, step_name=claimed.row.name, **fields)


def _finish(
    claimed: Claimed, status: StepStatus, reason: str, *, told: RunEvent, verdict: gate.Verdict | None, now: datetime
) -> Claimed | Work | None:
    prepared = claimed.prepared
    sightings.note(claimed.row, prepared.definition, now=now)
    # The answer too, unless it was kept before it was judged.
    fields = DECISION_FIELDS if prepared.answer_saved else tuple(dict.fromkeys((*ANSWER_FIELDS, *DECISION_FIELDS)))
    spent = spending.of_step(claimed.row, prepared.signals, settings.SERVICE.price_table)
    also = [*rows.insertion(prepared.unsaved), *_sampling(claimed, verdict, now)]
    also += books.booking(claimed.state.run, spent)
    if claimed.row.executor == "pipeline":  # the runs it started are on their team's books already
        spent += spending.of_children(claimed.row.id)
    claimed.row.cost_nanos = spent.known_cost
    if status == StepStatus.ESCALATED:
        also += opening(claimed.state.pipeline, claimed.row, prepared.definition, reason=reason, now=now)
    return rest(
        claimed.state,
        claimed.row,
        claimed.lease,
        status,
        reason,
        fields=fields,
        also=also,
        told=told,
        spent=spent,
        now=now,
    )


def rest(
    state: RunState,
    row: Step,
    lease: leases.Lease,
    status: StepStatus,
    reason: str,
    *,
    fields: Sequence[str],
    also: Sequence[Statement],
    told: RunEvent,
    spent: Spent = NOTHING,
    now: datetime,
) -> Claimed | Work | None:
    """Write that a step, a branch or a group has ended, with its ``fields`` and ``also``, and what follows from it.

    ``spent`` is added to the run, which is aborted when that is over its budget. Returns what the run goes on with.
    Raises LeaseLost or NotOurs.
    """
    row.status, row.completed_at, row.leased, row.wake_at = status, now, False, None
    writes = [leases.fenced(lease, **{name: getattr(row, name) for name in fields}), *also]
    writes += [*outbox.failed(state.pipeline, row, now=now), *outbox.sent(state.pipeline, row, now=now)]
    if row.branch is not None:
        return _branch_rests(state, row, [*writes, branches.one_less(row, now=now)], told, spent=spent, now=now)
    state.remember(row)
    refused = overspent.instead(state, row, spent)
    following = refused or plan.plan_next(state, now=now)
    if refused is not None:
        writes += withdrawals(state.run.id, now=now)  # nobody needs to decide on a step of a run that has ended
    if following.end is not None and following.end.index is not None:
        following.reason = following.reason or f"{row.name}: {reason}"
    commit.step(state, following, writes, [told, *overspent.warnings(state, row, spent, now=now)], spent=spent, now=now)
    spending.remember(state.run, spent)
    return onward(state, following)


def _branch_rests(
    state: RunState, row: Step, writes: Sequence[Statement], told: RunEvent, *, spent: Spent, now: datetime
) -> Work | None:
    if state.pipeline.budget is None or spent == NOTHING:
        commit.alone(state, writes, [told], spent=spent)
        return branches.join_due(row)
    log = [told, *overspent.warnings(state, row, spent, now=now)]
    if overspent.commit_branch(state, row, writes, log, spent, now=now):
        return None
    return branches.join_due(row)


def _sampling(claimed: Claimed, verdict: gate.Verdict | None, now: datetime) -> list[Statement]:
    """What adds the step to its bucket's samples, and to the marking queue."""
    row, run = claimed.row, claimed.state.run
    if verdict is None or verdict.bucket_id is None or row.effective_confidence is None:
        return []
    failed = row.deterministic_passed is False
    sample = buckets.sampling(
        id=row.id,
        bucket_id=verdict.bucket_id,
        group=run.id,
        stage=run.stage,
        confidence=row.effective_confidence,
        observed_at=now,
        check_failed=failed,
        claimed=row.primary_confidence,
    )
    item = items.item_of(
        row,
        run=run,
        bucket_id=verdict.bucket_id,
        confidence=row.effective_confidence,
        label_source=LabelSource.FAILED_CHECK if failed else LabelSource.NONE,
        now=now,
    )
    return [*sample, *rows.insertion([item])]
