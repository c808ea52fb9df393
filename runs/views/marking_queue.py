"""The marking queue: what waits for a person's judgement, by pipeline and step, and where to begin."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from runs.access.preferences import preference_of
from runs.access.roles import role_required
from runs.marking import filters as queue_filters
from runs.marking import groups, offers
from runs.marking.groups import Groups
from runs.models import QueueItem, Role
from runs.models.run import STAGES
from runs.views import marking_trail
from runs.views.marking_query import ORDERS, PARAMETERS, Asked, asked, read_after
from runs.views.page import page
from runs.views.query import parameters

ITEMS = 50


@role_required(Role.VIEWER)
@require_GET
@parameters(*PARAMETERS, "after_pipeline", "after_step")
@asked
def queue(request: HttpRequest, *, asked: Asked) -> HttpResponse:
    now = timezone.now()
    filters = asked.filters
    after = read_after(request)
    found = groups.groups(filters, by=asked.by, now=now, after=after)
    blind = preference_of(asked.by).is_blind
    context = {
        "now": now,
        "asked": asked,
        "cards": groups.cards(),
        "groups": _rows(found, asked),
        "older": _next_page(found, asked),
        "is_first": after is None,
        "among": found.among,
        "remaining": offers.remaining(filters, asked.by, now),
        "items": _items(filters, now) if filters.step else [],
        "blind": blind,
        "marked_at_once": marking_trail.last_bulk(request.session),
        "tags_hidden": blind and filters.label not in queue_filters.LABELS,
        "labels": queue_filters.LABELS,
        "choices": _choices(asked),
        "orders": list(ORDERS.items()),
    }
    return page(request, "marking/queue.html", context)


def _rows(found: Groups, asked: Asked) -> list[dict[str, Any]]:
    """Each group with the query that narrows the queue to it."""
    kept = {name: value for name, value in asked.chosen().items() if name not in {"pipeline", "step"}}
    return [
        {"group": group, "query": urlencode({"pipeline": group.pipeline, "step": group.step, **kept})}
        for group in found.rows
    ]


def _next_page(found: Groups, asked: Asked) -> str:
    if found.after is None:
        return ""
    pipeline, step = found.after
    return urlencode({**asked.chosen(), "after_pipeline": pipeline, "after_step": step})


def _items(filters: queue_filters.QueueFilters, now: dt.datetime) -> Sequence[QueueItem]:
    """Those of one step that have waited longest."""
    oldest = filters.apply(QueueItem.objects.all(), now=now).order_by("finished_at", "step_id").values("pk")[:ITEMS]
    items = QueueItem.objects.filter(pk__in=oldest).select_related("run", "held_by")
    shown = ("name", "group", "label_source", "is_replay", "finished_at", "held_until", "held_by__username",
             "run__summary")  # fmt: skip
    return list(items.only(*shown).order_by("finished_at", "step_id"))


def _choices(asked: Asked) -> list[dict[str, Any]]:
    names = asked.known()
    options: list[tuple[str, str, list[tuple[str, str]]]] = [
        ("pipeline", "Pipeline", [(name, name) for name in names.pipelines]),
        ("step", "Step", [(name, name) for name in names.steps]),
        ("agent", "Agent", [(name, name) for name in names.agents]),
        ("team", "Team", [(name, name) for name in names.teams]),
        ("stage", "Stage", [(stage, stage.capitalize()) for stage in STAGES]),
        ("label", "Label", [(key, _sentence(text)) for key, text in queue_filters.LABELS.items()]),
        ("age", "Finished", [(key, _sentence(text)) for key, (text, _) in queue_filters.AGES.items()]),
    ]
    return [
        {"name": name, "label": label, "options": values, "chosen": getattr(asked.filters, name)}
        for name, label, values in options
    ]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
