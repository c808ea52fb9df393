"""The join of a group: once its last branch has ended, or its time is over, the group ends as any step does."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import F
from django.utils import timezone

from calibration.statements import Statement, execute
from runs import events, outbox, spending
from runs.engine import closing, finish, transactions
from runs.engine.claimed import Claimed
from runs.engine.leases import Lease
from runs.engine.losing import lose
from runs.engine.opening import DecidedMeanwhile, opening, still_open, withdrawals
from runs.engine.publish import PATIENCE
from runs.engine.state import RunState, load
from runs.engine.work import Work
from runs.models import Escalation, Run, RunStatus, Step, StepStatus
from runs.models.escalation import PASSED
from runs.models.step import UNFINISHED
from runs.pipelines import definitions, registry, schema
from runs.trust import join, report


def conclude(state: RunState, row: Step, lease: Lease) -> Claimed | Work | None:
    """End the claimed group by the join of its branches; what the run goes on with. Raises LeaseLost and NotOurs."""
    while True:
        try:
            return _conclude(state, row, lease)
        except DecidedMeanwhile:
            # A person decided on a branch after it was read here: the join is another one now.
            fresh = load(row.run_id)
            assert fresh is not None
            state = fresh


def _conclude(state: RunState, row: Step, lease: Lease) -> Claimed | Work | None:
    entry = state.pipeline.entries[row.index]
    assert not isinstance(entry, schema.Step)
    joined = join.evaluate(
        list(_branches(row, entry)),
        join=entry.join,
        confidence_threshold=entry.confidence_threshold,
        on_low_confidence=entry.on_low_confidence,
    )
    now = timezone.now()
    row.trust_report = joined.to_json()
    row.combined_trust = joined.trust
    row.cost_nanos = spending.of_branches(row.run_id, row.index)
    row.error = joined.reason if joined.outcome == "failed" else ""
    told = events.event(
        row.run_id,
        "step.decided",
        f"{row.name} {joined.outcome}. {joined.reason}".strip(),
        now=now,
        step_name=row.name,
        level="info" if joined.outcome in {"completed", "stopped", "skipped"} else "warning",
    )
    return finish.rest(
        state,
        row,
        lease,
        StepStatus(joined.outcome),
        joined.reason,
        fields=_FIELDS,
        also=_asking(state, row, joined, now),
        told=told,
        now=now,
    )


def _asking(state: RunState, row: Step, joined: join.Joined, now: datetime) -> list[Statement]:
    """Who is asked now: about the group, or still about its branches, or nobody any more."""
    if joined.waits_for_branches:
        return [still_open(row.run_id)]
    asking: list[Statement] = []
    if joined.outcome == "escalated":
        entry = state.pipeline.entries[row.index]
        asking = opening(state.pipeline, row, entry, reason=joined.reason, now=now)
    return [*withdrawals(row.run_id, now=now), *asking]


_FIELDS = ("status", "error", "combined_trust", "trust_report", "cost_nanos", "completed_at", "leased", "wake_at")


def _branches(row: Step, entry: schema.Group) -> Iterator[join.Branch]:
    found = Step.objects.filter(run_id=row.run_id, index=row.index, branch__isnull=False)
    passed = Escalation.objects.filter(step__run_id=row.run_id, step__index=row.index, state__in=PASSED)
    accepted = set(passed.values_list("step_id", flat=True))
    for branch in found.only("name", "branch", "status", "combined_trust", "trust_report").order_by("branch"):
        assert branch.branch is not None
        own = entry.steps[branch.branch] if isinstance(entry, schema.Parallel) else None
        yield join.Branch(
            name=branch.name,
            status=branch.status,
            trust=branch.combined_trust,
            weight=own.weight if own else 1.0,
            blocked=report.never_clears(branch.trust_report or {}),
            accepted=branch.id in accepted,
            forgiven=own is not None and own.on_failure.policy == "continue",
        )


def end_overdue(row: Step, *, now: datetime) -> bool:
    """Fail what is left of a group whose time is over, so that it can be joined; False when it is not late."""
    limit = definitions.group_seconds(registry.parsed(row.run.version_id).entries[row.index])
    if limit is None or now < row.created_at + timedelta(seconds=limit):
        return False
    if not transactions.write(lambda: _fail_unfinished_branches(row, limit, now)):
        return False
    closing.end_children(row.run_id, reason=f"{row.name} was not finished in time.", now=now)
    return True


def _fail_unfinished_branches(row: Step, limit: float, now: datetime) -> bool:
    # The run first, as whoever ends a branch does: the two never wait for each other.
    if not Run.objects.select_for_update().filter(id=row.run_id, status=RunStatus.RUNNING).exists():
        return False
    late = Step.objects.filter(run_id=row.run_id, index=row.index, branch__isnull=False, status__in=UNFINISHED)
    lose(late, row.run_id)
    told = list(late.only("run_id", "name", "index", "branch"))
    late.update(
        status=StepStatus.FAILED,
        error=_late(limit),
        completed_at=now,
        leased=False,
        lease=F("lease") + 1,
        wake_at=None,
        turn_asked_at=None,
    )
    Step.objects.filter(id=row.id).update(awaited=0, wake_at=now + PATIENCE)
    for branch in told:
        branch.status, branch.error = StepStatus.FAILED, _late(limit)
        execute(outbox.failed(registry.parsed(row.run.version_id), branch, now=now))
    message = f"The {limit:g} seconds of {row.name} are over: what had not finished has failed."
    events.log(row.run_id, "step.timeout", message, now=now, step_name=row.name, level="warning")
    return True


def _late(limit: float) -> str:
    return f"not finished within the {limit:g} seconds of its group"
