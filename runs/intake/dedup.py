"""Is this payload one we have already? The database's unique index has the last word (``accept``)."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

from runs.models import Run
from runs.models.run import IN_FLIGHT
from runs.pipelines import schema

KEY_CHARS = 200
# A window that reaches back before the calendar begins would be no date at all.
LONGEST_SECONDS = 10 * 365 * 86_400


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
    return Policy(enabled, timedelta(seconds=min(seconds, LONGEST_SECONDS)))


def bounded(key: str) -> str:
    """A key an index can hold: a long one becomes its hash."""
    if len(key) <= KEY_CHARS:
        return key
    return f"sha256:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


# Written out because every payload with a key asks it twice, and building it costs Django twenty times
# what answering it costs the database. Two halves with an index each: an escalated run has no end and is
# not in flight either, so however many of them a key has gathered, none is read. No ORDER BY: SQLite would
# walk the newest runs of the pipeline instead of the key's own. The conditions of both indexes are
# repeated in their own words, or they are not used.
_KEY = "pipeline_name = %s AND team = %s AND dedup_key = %s AND NOT (dedup_key = '')"
_TWINS = f"""
    SELECT id, status, completed_at FROM runs_run WHERE {_KEY} AND status IN ('queued', 'running')
    UNION ALL
    SELECT id, status, completed_at FROM runs_run WHERE {_KEY} AND completed_at > %s
"""  # noqa: S608 (no values)


def twin_of(run: Run, *, window: timedelta, now: datetime) -> Run | None:
    """Another run with the same key that is in flight, else the newest that ended less than ``window`` ago."""
    since = connection.ops.adapt_datetimefield_value(now - window)
    key = [run.pipeline_name, run.team, run.dedup_key]
    twins = [other for other in Run.objects.raw(_TWINS, [*key, *key, since]) if other.id != run.id]
    return max(twins, key=lambda other: (other.status in IN_FLIGHT, other.id), default=None)


def reason(twin: Run, *, now: datetime) -> str:
    """Why a payload is answered with ``twin``, in a sentence."""
    if twin.completed_at is None:
        return f"A run with the same key is in flight ({twin.status})."
    ago = max(0, round((now - twin.completed_at).total_seconds()))
    return f"A run with the same key ended {ago} seconds ago ({twin.status})."
