"""What a person can do about an escalated step: approve it, revise it, hand it on, or abort the run.

Each is one transaction that takes the run's row first, so two people at the same instant come one after
the other: the first decides, the second is told who did. The run goes on at once, on any worker.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from calibration import turns
from calibration.models import TurnOutcome
from calibration.statements import execute
from runs import answer, events, executors, outbox
from runs.engine import opening, transactions
from runs.engine.publish import publish
from runs.engine.work import Work
from runs.escalations import resuming
from runs.models import Decision, Escalation, EscalationState, Run, Step, StepStatus
from runs.pipelines import definitions, registry
from runs.storable import storable, storable_reason, storable_text

CLOSES = {
    Decision.Kind.APPROVE: EscalationState.APPROVED,
    Decision.Kind.REVISE: EscalationState.REVISED,
    Decision.Kind.ABORT: EscalationState.ABORTED,
    Decision.Kind.TIMEOUT: EscalationState.TIMED_OUT,
}


# What it says of the agent's claim; silence says nothing.
TURNS = {
    Decision.Kind.APPROVE: TurnOutcome.APPROVED,
    Decision.Kind.REVISE: TurnOutcome.REVISED,
    Decision.Kind.ESCALATE: TurnOutcome.ESCALATED,
    Decision.Kind.ABORT: TurnOutcome.ABORTED,
}


class TooLate(Exception):
    """Somebody else was quicker, or the run has ended; the message says what became of it."""


class AlreadyClosed(TooLate):
    """It is decided, or nobody needs it to be."""


class HandedOn(TooLate):
    """It is not with those any more whom the decision speaks for: it may still be made, once that is known."""


class BadRevision(Exception):
    """The revised output cannot stand in for an answer. ``problems`` says why, by field; "" is the whole."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = dict(problems)


class AskedAlready(Exception):
    """It is with that group now; the message says so."""


@dataclass(frozen=True)
class Said:
    """Who said it, why, and when; ``tier`` is how often it had been handed on when they read it, if that is known."""

    by: str
    reason: str
    now: datetime
    tier: int | None = None


def approve(escalation_id: uuid.UUID, said: Said) -> None:
    """Let the run go on with the output as it is. Raises TooLate and Escalation.DoesNotExist."""
    _pass(escalation_id, said, Decision.Kind.APPROVE, None)


def revise(escalation_id: uuid.UUID, said: Said, *, output: Mapping[str, Any]) -> None:
    """Let the run go on with ``output`` in the place of the answer, which is kept.

    Raises BadRevision, TooLate and Escalation.DoesNotExist.
    """
    _pass(escalation_id, said, Decision.Kind.REVISE, output)


def abort(escalation_id: uuid.UUID, said: Said, *, kind: Decision.Kind = Decision.Kind.ABORT) -> None:
    """End the run as aborted, a branch's once its siblings have ended. Raises TooLate and DoesNotExist."""

    def write() -> None:
        escalation = _locked(escalation_id, said)
        _close(escalation, said, kind)
        resuming.abort(escalation.step, said.by, said.reason, now=said.now)

    transactions.write(write)


def hand_on(escalation_id: uuid.UUID, said: Said, *, to: str) -> None:
    """Ask the group ``to`` instead, with a deadline of its own where the step has one; the run stays paused.

    Raises AskedAlready, TooLate and Escalation.DoesNotExist.
    """
    to = storable_text(to)

    def write() -> None:
        escalation = _locked(escalation_id, said)
        if escalation.to == to:
            raise AskedAlready(f"{to} is asked already.")
        limit = _seconds(escalation.step)
        due_at = None if limit is None else said.now + timedelta(seconds=limit)
        Escalation.objects.filter(id=escalation_id).update(to=to, tier=F("tier") + 1, due_at=due_at, overdue_since=None)
        _note(escalation, said, Decision.Kind.ESCALATE, to=to)
        _tell_next(escalation.step, said, to)

    transactions.write(write)


def _tell_next(step: Step, said: Said, to: str) -> None:
    """Write what tells the group that is asked now."""
    pipeline = registry.parsed(Run.objects.values_list("version_id", flat=True).get(id=step.run_id))
    reason = f"Handed on to {to} by {said.by}" + (f": {said.reason}" if said.reason else ".")
    execute(outbox.escalated(pipeline, run_id=step.run_id, step_name=step.name, reason=reason, now=said.now))


def foreseen(step: Step, output: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What ``revise`` with ``output`` would change, as ``difference`` tells it. Raises BadRevision."""
    return _changes(step, _revised(step, output))


def _pass(escalation_id: uuid.UUID, said: Said, kind: Decision.Kind, output: Mapping[str, Any] | None) -> None:
    def write() -> list[Work]:
        escalation = _locked(escalation_id, said)
        step = escalation.step
        revised = None if output is None else _revised(step, output)
        changes = None if revised is None else _changes(step, revised)
        _close(escalation, said, kind, changes=changes)
        answered = (step.parsed_output if revised is None else revised) or {}
        status = StepStatus.STOPPED if answered.get("proceed", True) is False else StepStatus.COMPLETED
        fields = {} if revised is None else {"revised_output": revised}
        Step.objects.filter(id=step.id).update(status=status, **fields)
        return resuming.resume(step, now=said.now)

    publish(*transactions.write(write))


def _locked(escalation_id: uuid.UUID, said: Said) -> Escalation:
    """The open escalation, its run's row locked. Raises AlreadyClosed, and HandedOn since ``said.tier``."""
    run_id = Escalation.objects.values_list("run_id", flat=True).get(id=escalation_id)
    Run.objects.select_for_update().get(id=run_id)
    escalation = Escalation.objects.select_related("step").get(id=escalation_id)
    if escalation.state != EscalationState.OPEN:
        raise AlreadyClosed(closed_sentence(escalation))
    if said.tier is not None and said.tier != escalation.tier:
        last = escalation.decisions.order_by("-id").first()
        raise HandedOn(f"This was handed on to {escalation.to} by {last.by if last else 'somebody'} meanwhile.")
    return escalation


def closed_sentence(escalation: Escalation) -> str:
    """Who closed it, for somebody who comes too late."""
    by = f" by {escalation.closed_by}" if escalation.closed_by else ""
    return f"This was already {EscalationState(escalation.state).label.lower()}{by}."


def _close(escalation: Escalation, said: Said, kind: Decision.Kind, *, changes: Any = None) -> None:
    Escalation.objects.filter(id=escalation.id).update(
        state=CLOSES[kind], closed_at=said.now, closed_by=storable_text(said.by), due_at=None
    )
    _note(escalation, said, kind, changes=changes)


def _note(escalation: Escalation, said: Said, kind: Decision.Kind, *, to: str = "", changes: Any = None) -> None:
    by, reason = storable_text(said.by), storable_reason(said.reason)
    Decision.objects.create(
        escalation=escalation, kind=kind, by=by, reason=reason, to=to, changes=storable(changes), at=said.now
    )
    if outcome := TURNS.get(kind):
        turns.decide(escalation.step_id, outcome)
    name = escalation.step.name
    told = {
        Decision.Kind.APPROVE: f"{by} approved {name}",
        Decision.Kind.REVISE: f"{by} revised {name}",
        Decision.Kind.ESCALATE: f"{by} handed {name} on to {to}",
        Decision.Kind.ABORT: f"{by} aborted the run at {name}",
        Decision.Kind.TIMEOUT: f"Nobody decided on {name} in time",
    }[kind]
    message = f"{told}: {reason}" if reason else f"{told}."
    data = {"escalation": str(escalation.id)}
    events.log(escalation.run_id, f"escalation.{kind}", message, now=said.now, step_name=name, data=data)


def _revised(step: Step, output: Mapping[str, Any]) -> dict[str, Any]:
    """The output as it can be stored, held to the contract of the step's executor. Raises BadRevision."""
    if step.executor in definitions.GROUPS:
        raise BadRevision({"": "a group has no output of its own; its branches have"})
    if not executors.get(step.executor).is_agent:
        return dict(storable(dict(output)))
    try:
        return answer.parse(json.dumps(dict(output)), require_confidence=False).data
    except (answer.ContractError, ValueError, RecursionError) as error:
        problems = answer.problems(dict(output), require_confidence=False)
        raise BadRevision(problems or {"": str(error)}) from error


def _changes(step: Step, revised: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What the revision changes. Raises BadRevision where that is nothing."""
    changes = difference(step.parsed_output or {}, revised)
    if not changes:
        raise BadRevision({"": "it is the same as the answer; approve that instead"})
    return changes


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    """``{field: [before, after]}`` of the fields that differ; null for a side that has no such field."""
    fields = [*before, *(field for field in after if field not in before)]
    return {
        field: [before.get(field), after.get(field)]
        for field in fields
        if (field in before) != (field in after) or before.get(field) != after.get(field)
    }


def _seconds(step: Step) -> float | None:
    """The time each tier has, where the step's definition gives one."""
    pipeline = registry.parsed(Run.objects.values_list("version_id", flat=True).get(id=step.run_id))
    asked: Any = pipeline.entries[step.index]
    if step.branch is not None:
        asked = definitions.definition_of(pipeline, index=step.index, branch=step.branch)
    return opening.seconds_of(asked)
