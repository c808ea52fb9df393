"""What a person was asked about a step, and what became of it, as the run page tells it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runs.escalations import listing
from runs.models import Decision, Escalation, Run
from runs.models.run import ENDED
from runs.views.changes import Change, shown
from runs.views.run_reads import JSON_INLINE, json_chars, small_json

ASKED_AT_ONCE = 3


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
    """What is asked about a run now: the first few, and whether there are more."""

    first: Sequence[Escalation]
    more: bool


def questions_of(step_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Question]:
    """By step. Two queries."""
    escalations = list(Escalation.objects.filter(step_id__in=step_ids))
    decisions = _closing([one.id for one in escalations])
    return {one.step_id: _question(one, decisions.get(one.id)) for one in escalations}


def open_of(run: Run) -> Open:
    """Also of a run that is on its way: siblings of an escalated branch may still be. One query for it, or none."""
    if run.status in ENDED:
        return Open([], more=False)
    found = list(
        listing.ESCALATIONS.waiting()
        .filter(run=run)
        .select_related("step")
        .only("id", "to", "step__name")
        .order_by("opened_at")[: ASKED_AT_ONCE + 1]
    )
    return Open(found[:ASKED_AT_ONCE], more=len(found) > ASKED_AT_ONCE)


def _closing(ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Any]:
    closing = Decision.objects.filter(escalation_id__in=ids).exclude(kind=Decision.Kind.ESCALATE).defer("changes")
    closing = closing.annotate(changes_chars=json_chars("changes"))
    return {one.escalation_id: one for one in closing.annotate(small_changes=small_json("changes", JSON_INLINE))}


def _question(escalation: Escalation, decision: Any) -> Question:
    return Question(escalation, decision, shown(decision.small_changes or {}) if decision else [])
