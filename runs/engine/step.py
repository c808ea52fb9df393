"""Carrying one claimed step on, from where it stands to its end."""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from runs import executors, spending
from runs.engine import branches, collect, commit, gate, leases, loop, nesting, people, primary, turns, waiting
from runs.engine.claimed import Claimed
from runs.engine.finish import ANSWER_FIELDS, decide, end, event
from runs.engine.plan import Plan
from runs.engine.publish import publish
from runs.engine.work import Work
from runs.models import RunEvent, StepStatus
from runs.pipelines import templating

# How the steps get their answer that call nobody: a run or a person gives it, in its own time.
_WAITING = {"pipeline": nesting.ask, "human": people.ask}

RETRY_AT_MOST = 300.0  # seconds to which exponential backoff doubles the pause; a longer one that was written stays
RAW_EXCERPT = 2_000  # characters of a refused answer kept in the log; the last one is kept whole in its step


def carry_on(claimed: Claimed) -> Claimed | Work | None:
    """Do what is left of the step; what the run goes on with.

    Raises LeaseLost, Stopped or NotOurs when the step is no longer this worker's.
    """
    refusal = _refusal(claimed)
    if refusal is not None:
        return end(claimed, *refusal)
    try:
        if claimed.row.started_at is None:
            branches.begin(claimed)
        _answer(claimed)
    except waiting.LetGo as waits:
        return waits.work
    except waiting.Ends as ends:
        return end(claimed, ends.status, str(ends))
    except primary.Failed as failure:
        return _again_or_fail(claimed, failure)
    collect.for_decision(claimed, keep_answer=lambda: _keep_answer(claimed))
    if people.ask_for_checks(claimed):
        return None
    return decide(claimed)


def _refusal(claimed: Claimed) -> tuple[StepStatus, str] | None:
    """Why an interrupted step must not simply go on, where that is so."""
    row = claimed.row
    if row.attempts > settings.SERVICE.limits.workers_per_step:
        silent = f"{row.attempts - 1} workers went silent while they had it"
        return StepStatus.FAILED, f"given up: {silent}" + (f"; the last trouble was {row.error}" if row.error else "")
    if row.attempts == 1 or row.status != StepStatus.RUNNING or row.started_at is None or row.executor in _WAITING:
        return None
    # The worker went silent during the call: it may have taken effect, or not.
    durable = claimed.state.pipeline.durable
    oldest = durable.max_resume_age_seconds if durable else None
    if oldest is not None and row.started_at and timezone.now() - row.started_at > timedelta(seconds=oldest):
        return StepStatus.FAILED, f"interrupted, and older than max_resume_age_seconds ({oldest:g})"
    policy = (durable.on_interrupted if durable else None) or executors.get(row.executor).on_interrupted
    if policy == "escalate":
        return StepStatus.ESCALATED, "interrupted during the call, so nobody can tell whether it took effect"
    return None


def _answer(claimed: Claimed) -> None:
    """Get the answer that counts, over as many passes as ``loop_until`` asks for. Raises primary.Failed."""
    row, definition = claimed.row, claimed.definition
    while True:
        if row.status != StepStatus.JUDGING:
            _ask(claimed)
        if definition.loop_until is None or loop.is_settled(row):
            return
        collect.for_pass(claimed)
        judged = loop.of_pass(row, claimed.prepared.signals)
        loop.note_confidence(row, gate.verifier_input(definition, judged))
        if not loop.wants_another(claimed.prepared):
            loop.settle(row)
            _keep_answer(claimed)
            return
        _begin_pass(claimed)


def _ask(claimed: Claimed) -> None:
    row = claimed.row
    if not turns.take(row, claimed.lease, now=timezone.now()):
        raise waiting.LetGo
    row.tries += 1
    try:
        ask = _WAITING.get(row.executor, primary.ask)
        ask(claimed.state, claimed.prepared, claimed.lease)
    except primary.Failed as failure:
        may_retry = _may_retry(claimed, failure)
        if may_retry or row.iterations:
            spending.set_aside(row)
        if may_retry or not loop.give_up_pass(row):
            raise
        # An earlier pass gave an answer: it stands, and the run's log says why there is no later one.
        now = timezone.now()
        message = f"{row.name} has no further pass ({failure.message}); the best one so far counts."
        _save(claimed, event(claimed, "step.pass", message, now=now, level="warning"), now=now)
    row.status = StepStatus.JUDGING
    if claimed.definition.loop_until is not None:
        _keep_answer(claimed)


def _begin_pass(claimed: Claimed) -> None:
    try:
        warnings = loop.begin_another(claimed.state, claimed.prepared)
    except templating.TemplateError as error:
        raise primary.Failed(str(error), retryable=False) from error
    now, row = timezone.now(), claimed.row
    message = f"{row.name} is not confident enough yet: pass {len(row.iterations) + 1} begins."
    told = [event(claimed, "step.pass", message, now=now)]
    told += [event(claimed, "template.warning", text, now=now, level="warning") for text in warnings]
    _save(claimed, *told, now=now)
    claimed.prepared.answer_saved = False


def _keep_answer(claimed: Claimed) -> None:
    """Keep the answer before it is judged: a crash from here on repeats no call of the agent."""
    now, row = timezone.now(), claimed.row
    said = "no confidence" if row.primary_confidence is None else f"{row.primary_confidence:.0%} confidence"
    message = f"{row.name} answered with {said}; gathering signals."
    _save(claimed, event(claimed, "step.answered", message, now=now), now=now)
    claimed.prepared.answer_saved = True
    turns.hand_on(row.agent)


def _save(claimed: Claimed, *told: RunEvent, now: datetime) -> None:
    values = {name: getattr(claimed.row, name) for name in ANSWER_FIELDS}
    writes = [leases.fenced(claimed.lease, **values, wake_at=leases.until(now))]
    commit.step(claimed.state, Plan(), writes, told, now=now)


def _may_retry(claimed: Claimed, failure: primary.Failed) -> bool:
    retry = claimed.definition.retry
    return retry is not None and failure.retryable and claimed.row.tries < retry.attempts


def _again_or_fail(claimed: Claimed, failure: primary.Failed) -> Claimed | Work | None:
    retry, row = claimed.definition.retry, claimed.row
    if retry is None or not _may_retry(claimed, failure):
        return end(claimed, StepStatus.FAILED, failure.message)
    delay = retry.delay_seconds * (2 ** (row.tries - 1) if retry.backoff == "exponential" else 1)
    delay = min(delay, max(RETRY_AT_MOST, retry.delay_seconds))
    now = timezone.now()
    told = event(
        claimed,
        "step.retry",
        f"{row.name}, try {row.tries} of {retry.attempts}: {failure.message}. Trying again in {delay:g} s.",
        now=now,
        level="warning",
        data={"raw_output": row.raw_output[:RAW_EXCERPT]},
    )
    # Waiting holds no worker: the row is free, and due again after the pause.
    waiting = {"status": StepStatus.PENDING, "tries": row.tries, "retried": row.retried, "leased": False, "attempts": 0}
    writes = [leases.fenced(claimed.lease, **waiting, wake_at=now + timedelta(seconds=delay))]
    commit.step(claimed.state, Plan(), writes, [told], now=now)
    publish(Work("step", row.id), delay=delay)
    return None
