"""What the lists of escalations and of approvals have in common: what they take, and the page that is asked for."""

import uuid
from typing import Any

from django.http import QueryDict
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter

from runs.api import parameters
from runs.api.parameters import BadParameter
from runs.escalations import listing
from runs.models.run import STAGES

PAGE, PAGE_MAX = 50, 200
NAMED = ("pipeline", "step", "agent", "team", "to")
NAMES = ("state", *NAMED, "stage", "run", "after", "limit")
NEXT = "Give it as `after` for what follows. A page may be empty and not be the last."
DESCRIBED = [
    OpenApiParameter("state", enum=listing.TABS, default="open"),
    OpenApiParameter("pipeline"),
    OpenApiParameter("step", description="A step, or a group with all its branches."),
    OpenApiParameter("agent"),
    OpenApiParameter("team"),
    OpenApiParameter("stage", enum=STAGES),
    OpenApiParameter("to", description="The group that is asked now."),
    OpenApiParameter("run", uuid.UUID),
    OpenApiParameter("after", uuid.UUID, description="The `next` of the page before."),
    OpenApiParameter("limit", int, default=PAGE, description=f"1 to {PAGE_MAX}"),
]


def asked_for(
    query: QueryDict, lists: listing.Listing[listing.Asked], *, one: str, overdue: bool = False
) -> listing.Page[listing.Asked]:
    """The page; ``one`` is the kind of its rows with an article. Raises BadParameter."""
    limit = parameters.number(query, "limit", default=PAGE, low=1, high=PAGE_MAX)
    tab: listing.Tab = "closed" if parameters.choice(query, "state", listing.TABS) == "closed" else "open"
    after = parameters.identity(query, "after", of=one)
    named: Any = {name: parameters.text(query, name) or "" for name in NAMED}
    stage = parameters.choice(query, "stage", STAGES) or ""
    filters = listing.Filters(**named, stage=stage, overdue=overdue, run=parameters.identity(query, "run"))
    try:
        return lists.page(tab, filters, now=timezone.now(), size=limit, after=after)
    except listing.UnknownCursor:
        raise BadParameter("after", "after must be the `next` of the page before.") from None
