"""Whether the service can do its work, for monitors and load balancers: no login, bounded in time."""

import logging
import threading
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.api import parameters
from runs.engine import pauses
from runs.models import Run, RunEvent, RunStatus, Step

logger = logging.getLogger(__name__)

ANSWER_WITHIN = 2.0  # seconds
STALLED_AFTER = timedelta(seconds=30)


class HealthBody(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["ok", "stalled", "down"])
    database = serializers.ChoiceField(choices=["ok", "down"])
    workers = serializers.ChoiceField(choices=["ok", "stalled", "unknown"])
    oldest_queued_seconds = serializers.FloatField(
        allow_null=True, help_text="Null when no run waits; paused ones are left out."
    )
    everything_paused = serializers.BooleanField(allow_null=True, help_text="Null when the database is down.")
    pipelines_paused = serializers.IntegerField(allow_null=True, help_text="Those that were paused by themselves.")
    version = serializers.CharField()


class Health(APIView):
    """200 while payloads can be stored, 503 when the database does not answer in time.

    Stalled workers are told in the body but keep the 200: a load balancer that took the web process
    out because of them would lose the payloads that could wait safely. Parameters are ignored: whoever asks
    past a cache adds one that means nothing.
    """

    authentication_classes = []
    permission_classes = []

    @extend_schema(operation_id="health", auth=[], responses={200: HealthBody, 503: HealthBody})
    @parameters.ignores
    def get(self, request: Request) -> Response:
        found = _probe.look(timezone.now())
        return Response(found, status=503 if found["database"] == "down" else 200)


class _Probe:
    """Looks at the database in a thread of its own, so that one that hangs cannot hang the answer.

    While a look hangs no second one is started: a monitor that asks every second piles up nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def look(self, now: datetime) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return _down()
            thread = threading.Thread(target=_look, args=(now, found), name="health", daemon=True)
            self._thread = thread
            thread.start()
        thread.join(ANSWER_WITHIN)
        # A copy of what is complete: the thread puts everything in at once, or nothing.
        return dict(found) or _down()


_probe = _Probe()


def _look(now: datetime, found: dict[str, Any]) -> None:
    try:
        found.update(state(now))
    except Error:
        logger.warning("the database does not answer", exc_info=True)
    finally:
        connection.close()


def state(now: datetime) -> dict[str, Any]:
    """What the database tells about the work: a few reads of an index."""
    paused = pauses.in_force()
    waiting = Run.objects.filter(pauses.allowed(), status=RunStatus.QUEUED)
    oldest = waiting.order_by("id").values_list("triggered_at", flat=True).first()
    waited = max(now - oldest, timedelta()) if oldest else None
    stalled = waited is not None and waited > STALLED_AFTER and not (_works(now) or _something_happened(now))
    workers = "stalled" if stalled else "ok"
    return {
        "status": workers,
        "database": "ok",
        "workers": workers,
        "oldest_queued_seconds": None if waited is None else round(waited.total_seconds(), 1),
        "everything_paused": pauses.EVERYTHING in paused,
        "pipelines_paused": len(paused.keys() - {pauses.EVERYTHING}),
        "version": version(),
    }


def _works(now: datetime) -> bool:
    """A lease that has not run out is a worker's heartbeat: slow agents may be all there is to see."""
    return Step.objects.filter(leased=True, wake_at__gt=now).exists()


def _something_happened(now: datetime) -> bool:
    """A long queue that moves is load, not a fault: some event that is no arrival came of late."""
    recent = RunEvent.objects.exclude(kind="run.queued").order_by("-id").values_list("at", flat=True).first()
    return recent is not None and recent > now - STALLED_AFTER


def _down() -> dict[str, Any]:
    return {
        "status": "down",
        "database": "down",
        "workers": "unknown",
        "oldest_queued_seconds": None,
        "everything_paused": None,
        "pipelines_paused": None,
        "version": version(),
    }


def version() -> str:
    return str(settings.SPECTACULAR_SETTINGS["VERSION"])
