"""The escalations: what waits for a person, longest first, and what was decided, newest first."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from runs import filtering
from runs.access.roles import role_required
from runs.escalations import listing
from runs.escalations.listing import Filters
from runs.filtering import BadFilter
from runs.models import Decision, Escalation, Role
from runs.models.run import STAGES
from runs.views.errors import bad_value
from runs.views.page import page
from runs.views.query import parameters

PAGE = 50
NAMES = ("pipeline", "step", "agent", "team", "stage", "to", "overdue", "run")
LABELS = {"pipeline": "Pipeline", "step": "Step", "agent": "Agent", "team": "Team", "stage": "Stage", "to": "Asked"}
OVERDUE = "yes"


@dataclass(frozen=True)
class Asked:
    """``after`` is the id of the last escalation of the page before."""

    tab: listing.Tab
    filters: Filters
    chosen: Mapping[str, str]
    after: uuid.UUID | None

    def query(self, **more: str) -> str:
        tab = {"show": self.tab} if self.tab != "open" else {}
        return urlencode({**tab, **self.chosen, **more})


@dataclass(frozen=True)
class Row:
    """``decision`` is the one that closed it, if one did."""

    escalation: Escalation
    decision: Decision | None


@role_required(Role.VIEWER)
@require_GET
@parameters("show", *NAMES, "after")
def escalations(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    try:
        asked = _asked(request)
        found = listing.page(asked.tab, asked.filters, now=now, size=PAGE, after=asked.after)
    except BadFilter as error:
        return bad_value(request, error.problems, back=reverse("ui-escalations"), back_label="All escalations")
    except listing.UnknownCursor:
        problem = "after is no escalation of this list."
        return bad_value(request, [problem], back=reverse("ui-escalations"), back_label="All escalations")
    context = {
        "now": now,
        "asked": asked,
        "rows": _rows(found.rows),
        "is_first": asked.after is None,
        "first": asked.query(),
        "next": asked.query(after=str(found.after)) if found.after else "",
        "tabs": _tabs(asked.tab),
        "choices": _choices(asked),
        "clear": f"?{urlencode({'show': asked.tab})}" if asked.tab != "open" else reverse("ui-escalations"),
    }
    return page(request, "escalations/list.html", context)


def _asked(request: HttpRequest) -> Asked:
    """Raises BadFilter naming each value that cannot be used."""
    values = filtering.values_of(request.GET, ("show", *NAMES, "after"))
    problems = filtering.unknown(values, {"show": listing.TABS, "stage": STAGES, "overdue": (OVERDUE,)})
    ids = {name: _identity(name, values.pop(name), problems) for name in ("run", "after")}
    if problems:
        raise BadFilter(problems)
    tab: listing.Tab = "closed" if values.pop("show") == "closed" else "open"
    chosen = {name: value for name, value in {**values, "run": str(ids["run"] or "")}.items() if value}
    overdue = bool(values.pop("overdue"))
    filters = Filters(overdue=overdue, run=ids["run"], **values)
    return Asked(tab, filters, chosen, ids["after"])


def _identity(name: str, text: str, problems: list[str]) -> uuid.UUID | None:
    if not text:
        return None
    try:
        return uuid.UUID(text)
    except ValueError:
        problems.append(f"{name} must be the id of {'a run' if name == 'run' else 'an escalation'}.")
        return None


def _rows(found: Sequence[Escalation]) -> list[Row]:
    decisions = listing.closing(found)
    return [Row(one, decisions.get(one.id)) for one in found]


def _tabs(tab: listing.Tab) -> list[dict[str, Any]]:
    return [
        {"label": "Waiting", "url": reverse("ui-escalations"), "here": tab == "open"},
        {"label": "Decided", "url": f"{reverse('ui-escalations')}?show=closed", "here": tab == "closed"},
    ]


def _choices(asked: Asked) -> list[dict[str, Any]]:
    """The filters by name offer what the list holds; one that was asked for stays choosable."""
    known = {**listing.names(asked.tab), "stage": list(STAGES)}
    return [
        {
            "name": name,
            "label": label,
            "options": [(value, value) for value in sorted({*known[name], *filter(None, [asked.chosen.get(name)])})],
            "chosen": asked.chosen.get(name, ""),
        }
        for name, label in LABELS.items()
    ]
