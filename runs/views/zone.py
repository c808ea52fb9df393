"""One time zone per reader: what they chose, else what their browser says, else UTC. Tables and charts use it alike."""

import datetime as dt
import zoneinfo

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from runs.access.preferences import preference_of, zones
from runs.api.errors import is_html_path

# Set by static/js/app.js.
COOKIE = "vectorstep_zone"


class ReaderZone(MiddlewareMixin):
    """Makes the reader's zone Django's current one while a page is made; the API stays with UTC."""

    def process_request(self, request: HttpRequest) -> None:
        timezone.activate(zone_of(request) if is_html_path(request.path) else dt.UTC)


def zone_of(request: HttpRequest) -> dt.tzinfo:
    chosen = ""
    # Whoever has no session is a stranger, which costs no query to know.
    if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
        chosen = preference_of(request.user).time_zone
    for name in (chosen, request.COOKIES.get(COOKIE, "")):
        if name in zones():
            return zoneinfo.ZoneInfo(name)
    return dt.UTC


def wall(moment: dt.datetime) -> str:
    """The moment as the reader's clocks show it, for a chart: Plotly draws what is written and knows no zones."""
    return timezone.localtime(moment).replace(tzinfo=None).isoformat(timespec="milliseconds")
