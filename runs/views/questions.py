"""What a person was asked about a step, and what became of it, as the run page tells it."""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Left, Length

from runs.escalations import listing
from runs.models import Approval, Decision, Escalation, Run
from runs.models.run import ENDED
from runs.views.changes import Change, shown
from runs.views.run_reads import JSON_INLINE, json_chars, small_json

ASKED_AT_ONCE = 3
MESSAGE_HEAD = 1_000


@dataclass(frozen=True)
class Question:
    """``decision`` closed it, if a person or a deadline did; ``changes`` are what a revision changed, where that is
    short enough to stand on the run's page.
    """

    escalation: Escalation
    decision: Decision | None
    changes: Sequence[Change]


@dataclass(frozen=True)
class Open:
    """What is asked about a run now: the first few of each kind, and whether there are more of it."""

    first: Sequence[Escalation]
    more: bool
    approvals: Sequence[Approval]
    more_approvals: bool


def questions_of(step_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Question]:
    """By step. Two queries."""
    escalations = list(Escalation.objects.filter(step_id__in=step_ids))
    decisions = _closing([one.id for one in escalations])
    return {one.step_id: _question(one, decisions.get(one.id)) for one in escalations}


def approvals_of(step_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[Approval]]:
    """What was asked of people, by step, each with the beginning of its question. One query."""
    rows = Approval.objects.filter(step_id__in=step_ids).defer("message").order_by("position", "id")
    found: dict[uuid.UUID, list[Approval]] = defaultdict(list)
    for one in rows.annotate(message_head=Left("message", MESSAGE_HEAD), message_chars=Length("message")):
        found[one.step_id].append(one)
    return found


def open_of(run: Run) -> Open:
    """Also of a run that is on its way: siblings of an escalated branch may still be. Two queries, or none."""
    if run.status in ENDED:
        return Open([], more=False, approvals=[], more_approvals=False)
    escalations = list(_first(listing.ESCALATIONS.waiting().filter(run=run)).only("id", "to", "step__name"))
    approvals = list(_first(listing.APPROVALS.waiting().filter(run=run)).only("id", "to", "name", "step__name"))
    return Open(
        escalations[:ASKED_AT_ONCE],
        more=len(escalations) > ASKED_AT_ONCE,
        approvals=approvals[:ASKED_AT_ONCE],
        more_approvals=len(approvals) > ASKED_AT_ONCE,
    )


def _first(waiting: "QuerySet[listing.Asked]") -> "QuerySet[listing.Asked]":
    return waiting.select_related("step").order_by("opened_at", "id")[: ASKED_AT_ONCE + 1]


def _closing(ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Any]:
    closing = Decision.objects.filter(escalation_id__in=ids).exclude(kind=Decision.Kind.ESCALATE).defer("changes")
    closing = closing.annotate(changes_chars=json_chars("changes"))
    return {one.escalation_id: one for one in closing.annotate(small_changes=small_json("changes", JSON_INLINE))}


def _question(escalation: Escalation, decision: Any) -> Question:
    return Question(escalation, decision, shown(decision.small_changes or {}) if decision else [])
