"""Carrying one claimed step on, from where it stands to its end."""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from calibration import buckets
from runs import events, executors
from runs.engine import collect, commit, gate, gather, leases, loop, plan, primary, rows, sightings
from runs.engine.leases import Lease
from runs.engine.plan import Plan, Prepared
from runs.engine.publish import publish
from runs.engine.state import RunState
from runs.engine.work import Work
from runs.models import RunEvent, StepStatus
from runs.pipelines import templating
from runs.storable import storable_text

RETRY_AT_MOST = 300.0  # seconds between two tries, however often exponential backoff has doubled
RAW_EXCERPT = 2_000  # characters of a refused answer kept in the log; the last one is kept whole in its step

ANSWER_FIELDS = (*loop.PASS_FIELDS, "status", "iterations", "tries")
DECISION_FIELDS = (
    "status",
    "error",
    "effective_confidence",
    "verifier_confidence",
    "grounding_score",
    "deterministic_passed",
    "combined_trust",
    "trust_report",
    "completed_at",
    "leased",
    "wake_at",
)


def carry_on(state: RunState, prepared: Prepared, lease: Lease) -> Prepared | None:
    """Do what is left of the step; the run's next step, already claimed, or None.

    Raises LeaseLost, Stopped or NotOurs when the step is no longer this worker's.
    """
    refusal = _refusal(state, prepared)
    if refusal is not None:
        return end(state, prepared, lease, *refusal)
    try:
        _answer(state, prepared, lease)
    except primary.Failed as failure:
        return _again_or_fail(state, prepared, lease, failure)
    collect.collect(state, prepared, lease, hold_last=True)
    return _decide(state, prepared, lease)


def end(state: RunState, prepared: Prepared, lease: Lease, status: StepStatus, reason: str) -> Prepared | None:
    """Finish the step without a decision of the gate: it failed, or nobody can tell what its call did."""
    now = timezone.now()
    row = prepared.row
    row.error = storable_text(reason)
    message = f"{row.name} {'failed' if status == StepStatus.FAILED else 'waits for a person'}: {reason}"
    kind = "step.failed" if status == StepStatus.FAILED else "step.escalated"
    logged = events.event(state.run.id, kind, message, now=now, step_name=row.name, level="error")
    return _finish(state, prepared, lease, status, f"{row.name}: {reason}", [logged], None, now)


def _refusal(state: RunState, prepared: Prepared) -> tuple[StepStatus, str] | None:
    """Why an interrupted step must not simply go on, where that is so."""
    row = prepared.row
    if row.attempts > settings.SERVICE.limits.claims:
        return StepStatus.FAILED, f"given up: {row.attempts - 1} workers went silent while they had it"
    if row.attempts == 1 or row.status != StepStatus.RUNNING:
        return None
    # The worker went silent during the call: it may have taken effect, or not.
    durable = state.pipeline.durable
    oldest = durable.max_resume_age_seconds if durable else None
    if oldest is not None and row.started_at and timezone.now() - row.started_at > timedelta(seconds=oldest):
        return StepStatus.FAILED, f"interrupted, and older than max_resume_age_seconds ({oldest:g})"
    policy = (durable.on_interrupted if durable else None) or executors.get(row.executor).on_interrupted
    if policy == "escalate":
        return StepStatus.ESCALATED, "interrupted during the call, so nobody can tell whether it took effect"
    return None


def _answer(state: RunState, prepared: Prepared, lease: Lease) -> None:
    """Get the answer that counts, over as many passes as ``loop_until`` asks for. Raises primary.Failed."""
    row, definition = prepared.row, prepared.definition
    while True:
        if row.status != StepStatus.JUDGING:
            _ask(state, prepared, lease)
        if definition.loop_until is None or loop.is_settled(row):
            return
        collect.collect(state, prepared, lease, verifier_only=True)
        loop.note_confidence(row, gate.verifier_input(definition, loop.of_pass(row, prepared.signals)))
        if not loop.wants_another(prepared):
            loop.settle(row)
            _save_answer(state, prepared, lease)
            return
        _begin_pass(state, prepared, lease)


def _ask(state: RunState, prepared: Prepared, lease: Lease) -> None:
    row, definition = prepared.row, prepared.definition
    row.tries += 1
    try:
        primary.ask(state, prepared, lease)
    except primary.Failed as failure:
        if _may_retry(prepared, failure) or not loop.give_up_pass(row):
            raise
        # An earlier pass gave an answer: it stands, and the log says why there is no later one.
    row.status = StepStatus.JUDGING
    if gather.wanted(definition) or definition.loop_until is not None:
        _save_answer(state, prepared, lease)


def _begin_pass(state: RunState, prepared: Prepared, lease: Lease) -> None:
    try:
        warnings = loop.begin_another(state, prepared)
    except templating.TemplateError as error:
        raise primary.Failed(str(error), retryable=False) from error
    now = timezone.now()
    row = prepared.row
    message = f"{row.name} is not confident enough yet: pass {len(row.iterations) + 1} begins."
    logged = [events.event(state.run.id, "step.pass", message, now=now, step_name=row.name)]
    logged += [
        events.event(state.run.id, "template.warning", text, now=now, step_name=row.name, level="warning")
        for text in warnings
    ]
    _save(state, prepared, lease, logged, now)
    prepared.answer_saved = False


def _save_answer(state: RunState, prepared: Prepared, lease: Lease) -> None:
    """Keep the answer before it is judged: a crash from here on repeats no call of the agent."""
    now = timezone.now()
    row = prepared.row
    said = "no confidence" if row.primary_confidence is None else f"{row.primary_confidence:.0%} confidence"
    message = f"{row.name} answered with {said}; gathering signals."
    _save(
        state,
        prepared,
        lease,
        [events.event(state.run.id, "step.answered", message, now=now, step_name=row.name)],
        now,
    )
    prepared.answer_saved = True


def _save(state: RunState, prepared: Prepared, lease: Lease, logged: list[RunEvent], now: datetime) -> None:
    values = {name: getattr(prepared.row, name) for name in ANSWER_FIELDS}
    commit.step(
        state,
        Plan(),
        lambda: leases.fenced_update(lease, **values, wake_at=leases.until(now)),
        logged,
        now=now,
    )


def _may_retry(prepared: Prepared, failure: primary.Failed) -> bool:
    retry = prepared.definition.retry
    return retry is not None and failure.retryable and prepared.row.tries < retry.attempts


def _again_or_fail(state: RunState, prepared: Prepared, lease: Lease, failure: primary.Failed) -> Prepared | None:
    if not _may_retry(prepared, failure):
        return end(state, prepared, lease, StepStatus.FAILED, failure.message)
    retry, row = prepared.definition.retry, prepared.row
    assert retry is not None
    delay = retry.delay_seconds * (2 ** (row.tries - 1) if retry.backoff == "exponential" else 1)
    delay = min(delay, RETRY_AT_MOST)
    now = timezone.now()
    message = f"{row.name}, try {row.tries} of {retry.attempts}: {failure.message}. Trying again in {delay:g} s."
    logged = events.event(
        state.run.id,
        "step.retry",
        message,
        now=now,
        step_name=row.name,
        level="warning",
        data={"raw_output": row.raw_output[:RAW_EXCERPT]},
    )
    # Waiting holds no worker: the row is free, and due again after the pause.
    due = now + timedelta(seconds=delay)
    commit.step(
        state,
        Plan(),
        lambda: leases.fenced_update(
            lease, status=StepStatus.PENDING, tries=row.tries, leased=False, wake_at=due, attempts=0
        ),
        [logged],
        now=now,
    )
    publish(Work("step", row.id), delay=delay)
    return None


def _decide(state: RunState, prepared: Prepared, lease: Lease) -> Prepared | None:
    now = timezone.now()
    row = prepared.row
    verdict = gate.decide(prepared, loop.of_pass(row, prepared.signals), now=now)
    level = "info" if verdict.status in {StepStatus.COMPLETED, StepStatus.STOPPED} else "warning"
    logged = events.event(
        state.run.id,
        "step.decided",
        f"{row.name} {verdict.status}. {verdict.reason}".strip(),
        now=now,
        step_name=row.name,
        level=level,
    )
    reason = str((row.parsed_output or {}).get("proceed_reason") or "")
    if verdict.status != StepStatus.STOPPED:
        reason = verdict.reason
    return _finish(state, prepared, lease, verdict.status, f"{row.name}: {reason}", [logged], verdict, now)


def _finish(
    state: RunState,
    prepared: Prepared,
    lease: Lease,
    status: StepStatus,
    reason: str,
    logged: list[RunEvent],
    verdict: gate.Verdict | None,
    now: datetime,
) -> Prepared | None:
    row = prepared.row
    row.status, row.completed_at, row.leased, row.wake_at = status, now, False, None
    state.remember(row)
    sightings.note(row, prepared.definition, now=now)
    following = plan.plan_next(state, now=now)
    if following.end is not None and following.end.index is not None:
        following.reason = following.reason or reason
    fields = DECISION_FIELDS if prepared.answer_saved else {*ANSWER_FIELDS, *DECISION_FIELDS}
    values = {name: getattr(row, name) for name in fields}

    def write_step() -> None:
        leases.fenced_update(lease, **values)
        rows.insert(prepared.unsaved)
        _record_sample(state, prepared, verdict, now)

    commit.step(state, following, write_step, logged, now=now)
    return following.begin


def _record_sample(state: RunState, prepared: Prepared, verdict: gate.Verdict | None, now: datetime) -> None:
    row = prepared.row
    if verdict is None or verdict.bucket_id is None or row.effective_confidence is None:
        return
    buckets.record_sample(
        id=row.id,
        bucket_id=verdict.bucket_id,
        group=state.run.id,
        stage=state.run.stage,
        confidence=row.effective_confidence,
        observed_at=now,
        check_failed=row.deterministic_passed is False,
    )
