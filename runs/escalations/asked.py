"""A decision as a form, the API or the command line asks for it: checked as a whole, then made."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs.escalations import deciding
from runs.storable import REASON_CHARS

DECISIONS = ("approve", "revise", "escalate", "abort")
GROUP_CHARS = 200


class BadDecision(Exception):
    """Something asked for cannot be; ``problems`` says what, by field (decision, reason, output, to)."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(" ".join(problems.values()))
        self.problems = dict(problems)


@dataclass(frozen=True)
class Asked:
    """``output`` goes with revise, ``to`` with escalate; ``tier`` is how often it had been handed on as it was read."""

    decision: str
    reason: str
    output: Mapping[str, Any] | None = None
    to: str = ""
    tier: int | None = None


def decide(escalation_id: uuid.UUID, asked: Asked, *, by: str, now: datetime) -> None:
    """Make the decision.

    Raises BadDecision, ``deciding.BadRevision``, ``deciding.TooLate`` and Escalation.DoesNotExist.
    """
    if problems := _problems(asked):
        raise BadDecision(problems)
    said = deciding.Said(by=by, reason=asked.reason.strip(), now=now, tier=asked.tier)
    if asked.decision == "approve":
        deciding.approve(escalation_id, said)
    elif asked.decision == "abort":
        deciding.abort(escalation_id, said)
    elif asked.decision == "revise":
        deciding.revise(escalation_id, said, output=asked.output or {})
    else:
        try:
            deciding.hand_on(escalation_id, said, to=asked.to.strip())
        except deciding.AskedAlready as error:
            raise BadDecision({"to": str(error)}) from error


def _problems(asked: Asked) -> dict[str, str]:
    found = {
        "decision": "" if asked.decision in DECISIONS else f"A decision is one of: {', '.join(DECISIONS)}.",
        "reason": _text_problem("A reason", asked.reason, REASON_CHARS),
        "output": _misplaced(asked.decision == "revise", asked.output is not None, "An output", "revise"),
        "to": _misplaced(asked.decision == "escalate", bool(asked.to.strip()), "A group that is asked next", "escalate")
        or (_text_problem("A group", asked.to, GROUP_CHARS) if asked.to else ""),
    }
    return {field: problem for field, problem in found.items() if problem}


def _text_problem(what: str, text: str, most: int) -> str:
    if not text.strip():
        return f"{what} is needed."
    return f"{what} has at most {most:,} characters, not {len(text):,}." if len(text) > most else ""


def _misplaced(wanted: bool, given: bool, what: str, decision: str) -> str:
    if wanted == given:
        return ""
    return f"{what} is needed to {decision}." if wanted else f"{what} only goes with {decision}."
