"""Small makers of rows for the tests of calibration."""

import itertools
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from calibration import buckets
from calibration.buckets import BucketKey

NOW = datetime(2026, 7, 10, 12, 0, tzinfo=UTC)
_numbers = itertools.count(1)


def person(name: str | None = None) -> User:
    return User.objects.create(username=name or f"person-{next(_numbers)}")


def key(**parts: str) -> BucketKey:
    given = {"step": "triage", "agent": "command:triage", "model": "m1", "provider": "p1"} | parts
    return BucketKey(**given)


def record(bucket: BucketKey, confidence: float = 0.95, **given: Any) -> uuid.UUID:
    """A recorded sample; a fresh id and group unless given."""
    fields = {
        "id": uuid.uuid4(),
        "group": uuid.uuid4(),
        "stage": "production",
        "observed_at": NOW - timedelta(days=1),
        "check_failed": False,
    } | given
    buckets.record_sample(bucket_id=buckets.bucket_id(bucket), confidence=confidence, **fields)
    return fields["id"]
