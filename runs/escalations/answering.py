"""An answer to a question as a form, the API or the command line gives it: checked as a whole, then recorded."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from runs.escalations import approving
from runs.escalations.asked import BadDecision
from runs.escalations.deciding import Said
from runs.storable import REASON_CHARS

ANSWERS = {"approve": approving.approve, "reject": approving.reject}


@dataclass(frozen=True)
class Answered:
    """``reason`` is needed to reject; a yes may go without one."""

    answer: str
    reason: str = ""


def answer(approval_id: uuid.UUID, given: Answered, *, by: str, now: datetime) -> None:
    """Record the answer; the run goes on at once. Raises BadDecision, AlreadyClosed and Approval.DoesNotExist."""
    if problems := _problems(given):
        raise BadDecision(problems)
    ANSWERS[given.answer](approval_id, Said(by=by, reason=given.reason.strip(), now=now))


def _problems(given: Answered) -> dict[str, str]:
    found = {}
    if given.answer not in ANSWERS:
        found["answer"] = f"An answer is one of: {', '.join(ANSWERS)}."
    if given.answer == "reject" and not given.reason.strip():
        found["reason"] = "A reason is needed to reject: whoever reads it later wants to know why."
    if len(given.reason) > REASON_CHARS:
        found["reason"] = f"A reason has at most {REASON_CHARS:,} characters, not {len(given.reason):,}."
    return found
