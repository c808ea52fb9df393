"""When pipelines start by themselves: the next runs of each, in the reader's time zone and in the schedule's own."""

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from runs.access.roles import role_required
from runs.models import Role
from runs.schedules.listing import Scheduled, schedules
from runs.views.page import page
from runs.views.query import parameters, searched

SHOWN = 200
# From this many on, a field narrows the list by name.
SEARCHED_FROM = 20


@dataclass(frozen=True)
class Upcoming:
    """A tick as the reader's clocks show it, and as those of the schedule's zone do where that differs."""

    at: dt.datetime
    here: str
    there: str


@role_required(Role.VIEWER)
@require_GET
@parameters("name")
def list_schedules(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    every = schedules(now=now)
    wanted = searched(request.GET, "name")
    found = [one for one in every if wanted.casefold() in one.pipeline.casefold()]
    context = {
        "now": now,
        "rows": [{"one": one, "upcoming": upcoming(one, now)} for one in found[:SHOWN]],
        "left": max(0, len(found) - SHOWN),
        "count": len(every),
        "wanted": wanted,
        "searched": wanted or len(every) >= SEARCHED_FROM,
    }
    return page(request, "pipelines/schedules.html", context, within=reverse("ui-pipelines"))


def upcoming(one: Scheduled, now: dt.datetime) -> list[Upcoming]:
    """The next ticks, written with the day unless that is today's."""
    zone = ZoneInfo(one.schedule.timezone)
    return [_upcoming(tick, zone, now) for tick in one.upcoming]


def _upcoming(tick: dt.datetime, zone: ZoneInfo, now: dt.datetime) -> Upcoming:
    here, there = timezone.localtime(tick), tick.astimezone(zone)
    same = here.replace(tzinfo=None) == there.replace(tzinfo=None)
    return Upcoming(tick, _written(here, now), "" if same else _written(there, now))


def _written(moment: dt.datetime, now: dt.datetime) -> str:
    today = now.astimezone(moment.tzinfo)
    if moment.date() == today.date():
        return f"today, {moment:%H:%M}"
    year = "" if moment.year == today.year else f" {moment.year}"
    return f"{moment:%a} {moment.day} {moment:%b}{year}, {moment:%H:%M}"
