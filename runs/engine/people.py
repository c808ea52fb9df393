"""Asking a person: a human step is nothing else, and a human check is the last of a step's signals to come.

The question is a row of its own (``Approval``); the step holds no worker until it is answered
(``runs.escalations.approving``). Silence is never approval.
"""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from runs import events, rows
from runs.engine import waiting
from runs.engine.claimed import Claimed
from runs.engine.finish import ANSWER_FIELDS
from runs.engine.leases import Lease
from runs.engine.plan import Prepared
from runs.engine.primary import Failed
from runs.engine.state import RunState
from runs.models import Approval, ApprovalKind, ApprovalState, RunEvent, Signal, SignalKind, SignalState, StepStatus
from runs.pipelines import schema, templating
from runs.storable import storable_text


def ask(state: RunState, prepared: Prepared, lease: Lease) -> None:
    """Put the question of a human step, or fill its row from the answer that has come.

    Raises waiting.LetGo once it is put, waiting.Ends when it was rejected, Failed when nobody answered in time,
    LeaseLost and NotOurs.
    """
    row, now = prepared.row, timezone.now()
    answered = Approval.objects.filter(step_id=row.id, kind=ApprovalKind.STEP).first()
    if answered is None:
        asked = _question(
            prepared,
            str(prepared.config["message"]),
            limit=prepared.definition.timeout_seconds,
            now=now,
            kind=ApprovalKind.STEP,
            name=row.name,
            to=storable_text(str(prepared.config.get("to") or "")),
        )
        waiting.let_go(state, lease, awaited=1, also=rows.insertion([asked]), told=[_told(prepared, asked, now)])
        raise waiting.LetGo
    if answered.state == ApprovalState.REJECTED:
        raise waiting.Ends(StepStatus.ABORTED, decided_sentence(answered))
    if answered.state != ApprovalState.APPROVED:
        raise Failed(decided_sentence(answered), retryable=False)
    row.parsed_output = {
        "approved": True,
        "by": answered.closed_by,
        "reason": answered.reason,
        "summary": decided_sentence(answered),
    }


def decided_sentence(approval: Approval) -> str:
    """What became of a question, for logs and for the step's own words."""
    if approval.state == ApprovalState.TIMED_OUT:
        return "nobody answered in time"
    return f"{approval.state} by {approval.closed_by}" + (f": {approval.reason}" if approval.reason else "")


def ask_for_checks(claimed: Claimed) -> bool:
    """Put the questions of the step's human checks that have no answer yet; False when there are none.

    The other signals are there by then, so whoever is asked can see them. Raises LeaseLost and NotOurs.
    """
    prepared, now = claimed.prepared, timezone.now()
    asked = [one for one in (_check(prepared, place, now) for place in _open_checks(prepared)) if one is not None]
    if not asked:
        return False
    fields = {} if prepared.answer_saved else {name: getattr(prepared.row, name) for name in ANSWER_FIELDS}
    waiting.let_go(
        claimed.state,
        claimed.lease,
        awaited=len(asked),
        fields={**fields, "status": StepStatus.JUDGING},
        also=[*rows.insertion(prepared.unsaved), *rows.insertion(asked)],
        told=[_told(prepared, one, now) for one in asked],
    )
    return True


def _open_checks(prepared: Prepared) -> list[int]:
    answered = {one.position for one in prepared.signals if one.kind == SignalKind.CHECK}
    checks = enumerate(prepared.definition.deterministic_checks)
    return [place for place, check in checks if isinstance(check, schema.HumanCheck) and place not in answered]


def _check(prepared: Prepared, place: int, now: datetime) -> Approval | None:
    """The question of a check; None when it cannot be put, which fails the check."""
    check = prepared.definition.deterministic_checks[place]
    assert isinstance(check, schema.HumanCheck)
    seen = {**prepared.context, "output": prepared.row.parsed_output or {}}
    try:
        rendered = templating.render(check.message, seen)
    except templating.TemplateError as error:
        failed = Signal(
            step_id=prepared.row.id,
            kind=SignalKind.CHECK,
            position=place,
            name=check.name,
            state=SignalState.FAILED,
            passed=False,
            detail={"type": "human"},
            error=storable_text(f"message: {error}"),
            started_at=now,
            completed_at=now,
        )
        prepared.signals.append(failed)
        prepared.unsaved.append(failed)
        return None
    return _question(
        prepared,
        rendered.text,
        limit=check.timeout_seconds,
        now=now,
        kind=ApprovalKind.CHECK,
        name=check.name,
        position=place,
    )


def _question(prepared: Prepared, message: str, *, limit: float | None, now: datetime, **about: Any) -> Approval:
    """``limit``: seconds until silence counts as no. ``about``: kind, name and whatever else the row says of it."""
    return Approval(
        step_id=prepared.row.id,
        run_id=prepared.row.run_id,
        message=storable_text(message),
        opened_at=now,
        due_at=None if limit is None else now + timedelta(seconds=limit),
        **about,
    )


def _told(prepared: Prepared, asked: Approval, now: datetime) -> RunEvent:
    name = prepared.row.name
    who = f"{asked.to} is" if asked.to else "A person is"
    return events.event(
        prepared.row.run_id,
        "step.waiting",
        f"{who} asked about {name}: {asked.message}",
        now=now,
        step_name=name,
        data={"approval": str(asked.id)},
    )
