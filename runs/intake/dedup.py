"""Is this payload one we have already? The database's unique index has the last word (``accept``)."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q

from runs.models import Run
from runs.models.run import ENDED, IN_FLIGHT
from runs.pipelines import schema

KEY_CHARS = 200


@dataclass(frozen=True)
class Policy:
    enabled: bool
    window: timedelta


def policy_of(pipeline: schema.Pipeline) -> Policy:
    """The service's rule; whatever the pipeline's ``trigger.dedup`` says itself goes before it."""
    service = settings.SERVICE.dedup
    own = pipeline.trigger.dedup
    enabled = service.enabled if own.enabled is None else own.enabled
    seconds = service.window_seconds if own.window_seconds is None else own.window_seconds
    return Policy(enabled, timedelta(seconds=seconds))


def bounded(key: str) -> str:
    """A key an index can hold: a long one becomes its hash."""
    if len(key) <= KEY_CHARS:
        return key
    return f"sha256:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def twin_of(run: Run, *, window: timedelta, now: datetime) -> Run | None:
    """The newest other run with the same key that is in flight, or ended less than ``window`` ago."""
    recent = Q(status__in=IN_FLIGHT) | Q(status__in=ENDED, completed_at__gt=now - window)
    same = Run.objects.filter(recent, pipeline_name=run.pipeline_name, team=run.team, dedup_key=run.dedup_key)
    # Says in the index's own words that the key is not empty, or the index would not be used.
    return same.exclude(dedup_key="").exclude(id=run.id).only("id", "status", "completed_at").order_by("-id").first()


def reason(twin: Run, *, now: datetime) -> str:
    """Why a payload is answered with ``twin``, in a sentence."""
    if twin.completed_at is None:
        return f"A run with the same key is in flight ({twin.status})."
    ago = max(0, round((now - twin.completed_at).total_seconds()))
    return f"A run with the same key ended {ago} seconds ago ({twin.status})."
