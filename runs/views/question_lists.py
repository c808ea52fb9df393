"""What the lists of escalations and of approvals have in common: reading the address, the tabs and the filters."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from runs import filtering
from runs.escalations import listing
from runs.escalations.listing import Filters
from runs.filtering import BadFilter
from runs.models.run import STAGES
from runs.views.errors import bad_value

PAGE = 50
LABELS = {"pipeline": "Pipeline", "step": "Step", "agent": "Agent", "team": "Team", "stage": "Stage", "to": "Asked"}
OVERDUE = "yes"


@dataclass(frozen=True)
class Shelf(Generic[listing.Asked]):
    """One kind of question: its lists, their address, its name with an article, and what its list takes."""

    lists: listing.Listing[listing.Asked]
    address: str
    one: str
    names: Sequence[str]

    @property
    def back(self) -> dict[str, str]:
        return {"back": reverse(self.address), "back_label": f"All {self.one.partition(' ')[2]}s"}


@dataclass(frozen=True)
class Asked:
    """``after`` is the id of the last row of the page before."""

    tab: listing.Tab
    filters: Filters
    chosen: Mapping[str, str]
    after: uuid.UUID | None

    def query(self, **more: str) -> str:
        tab = {"show": self.tab} if self.tab != "open" else {}
        return urlencode({**tab, **self.chosen, **more})


@dataclass(frozen=True)
class Shown(Generic[listing.Asked]):
    """What was found, and what the page shows around it."""

    found: listing.Page[listing.Asked]
    context: Mapping[str, Any]


def listed(request: HttpRequest, shelf: Shelf[listing.Asked]) -> Shown[listing.Asked] | HttpResponse:
    """The page that was asked for, or the answer to an address that cannot be read."""
    now = timezone.now()
    try:
        asked = _asked(request, shelf)
        found = shelf.lists.page(asked.tab, asked.filters, now=now, size=PAGE, after=asked.after)
    except BadFilter as error:
        return bad_value(request, error.problems, **shelf.back)
    except listing.UnknownCursor:
        return bad_value(request, [f"after is no {shelf.one.partition(' ')[2]} of this list."], **shelf.back)
    address = reverse(shelf.address)
    context = {
        "now": now,
        "asked": asked,
        "address": address,
        "is_first": asked.after is None,
        "first": asked.query(),
        "next": asked.query(after=str(found.after)) if found.after else "",
        "tabs": _tabs(address, asked.tab),
        "choices": _choices(shelf, asked),
        "clear": f"?{urlencode({'show': asked.tab})}" if asked.tab != "open" else address,
    }
    return Shown(found, context)


def _asked(request: HttpRequest, shelf: Shelf[Any]) -> Asked:
    """Raises BadFilter naming each value that cannot be used."""
    values = filtering.values_of(request.GET, ("show", *shelf.names, "after"))
    allowed = {"show": listing.TABS, "stage": STAGES, "overdue": (OVERDUE,)}
    problems = filtering.unknown(values, {name: allowed[name] for name in allowed if name in values})
    kinds = {"run": "a run", "after": shelf.one}
    ids = {name: _identity(name, values.pop(name), kind, problems) for name, kind in kinds.items()}
    if problems:
        raise BadFilter(problems)
    tab: listing.Tab = "closed" if values.pop("show") == "closed" else "open"
    chosen = {name: value for name, value in {**values, "run": str(ids["run"] or "")}.items() if value}
    overdue = bool(values.pop("overdue", ""))
    filters = Filters(overdue=overdue, run=ids["run"], **values)
    return Asked(tab, filters, chosen, ids["after"])


def _identity(name: str, text: str, kind: str, problems: list[str]) -> uuid.UUID | None:
    if not text:
        return None
    try:
        return uuid.UUID(text)
    except ValueError:
        problems.append(f"{name} must be the id of {kind}.")
        return None


def _tabs(address: str, tab: listing.Tab) -> list[dict[str, Any]]:
    return [
        {"label": "Waiting", "url": address, "here": tab == "open"},
        {"label": "Decided", "url": f"{address}?show=closed", "here": tab == "closed"},
    ]


def _choices(shelf: Shelf[Any], asked: Asked) -> list[dict[str, Any]]:
    """The filters by name offer what the list holds; one that was asked for stays choosable."""
    known = {**shelf.lists.names(asked.tab), "stage": list(STAGES)}
    return [
        {
            "name": name,
            "label": label,
            "options": [(value, value) for value in sorted({*known[name], *filter(None, [asked.chosen.get(name)])})],
            "chosen": asked.chosen.get(name, ""),
        }
        for name, label in LABELS.items()
    ]
