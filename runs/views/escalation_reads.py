"""What the pages of an escalation read, and whose they are."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from runs.escalations import listing
from runs.escalations.consequences import Consequences, consequences, proceeds, silence
from runs.models import Decision, Escalation
from runs.pipelines.definitions import written
from runs.views.question_reads import question_of
from runs.views.run_page import panels_of
from runs.views.step_panel import Panel

HISTORY = 50
SUGGESTED = 50


@dataclass(frozen=True)
class Sight:
    """One escalation with all that whoever decides is shown; ``next`` is None once it is closed."""

    escalation: Escalation
    panel: Panel
    decisions: Sequence[Decision]
    decisions_left: int
    silence: str
    next: Consequences | None


def escalation_of(escalation_id: uuid.UUID) -> Escalation:
    """As ``question_of``."""
    return question_of(Escalation, escalation_id, back=reverse("ui-escalations"))


def sight_of(request: HttpRequest, escalation: Escalation) -> Sight:
    [panel] = panels_of(request, escalation.run, [escalation.step_id])
    decisions = list(escalation.decisions.defer("changes").order_by("-id")[:HISTORY])
    total = len(decisions) if len(decisions) < HISTORY else escalation.decisions.count()
    is_open = escalation.closed_at is None
    return Sight(
        escalation=escalation,
        panel=panel,
        decisions=decisions[::-1],
        decisions_left=total - len(decisions),
        silence=silence(escalation),
        next=consequences(escalation, escalation.run, proceed=proceeds(escalation.step_id)) if is_open else None,
    )


def changes_of(escalation: Escalation) -> Mapping[str, Any]:
    """What a revision changed, by field; empty where it was not revised."""
    found = escalation.decisions.filter(kind=Decision.Kind.REVISE).values_list("changes", flat=True).first()
    return found or {}


def groups_known(config: Mapping[str, Any]) -> list[str]:
    """Whom others hand escalations on to, and whom this pipeline names."""
    asked = (
        listing.ESCALATIONS.waiting().exclude(to="").order_by("to").values_list("to", flat=True).distinct()[:SUGGESTED]
    )
    named = [(entry.get("escalation") or {}).get("to") for entry in written(config)]
    return sorted({name for name in (*asked, *named) if name})
